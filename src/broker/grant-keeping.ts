/**
 * The last step of a sign-in: tokens into the vault, then the grant.
 *
 * Invariant: a step-up that comes back as another subject never updates the grant it was for
 * (DESIGN, Words: account); it is refused, and the grant stays as it was.
 */
import { KeyturnError, quoted, reasonOf } from '../errors.ts';
import type { TokenAnswer } from '../oauth/token.ts';
import type { Vault } from '../vault/vault.ts';
import type { Audit } from './audit.ts';
import type { Clock } from './clock.ts';
import { mostSuperseded, readGrantSecret, writeGrantSecret } from './grant-secret.ts';
import type { GrantSecret } from './grant-secret.ts';
import { defaultAccount } from './grant.ts';
import type { Grant, Grants } from './grant.ts';
import type { Refresher } from './refresher.ts';
import { fullScope } from './token-cache.ts';
import type { TokenCache } from './token-cache.ts';

export interface KeepingParts {
  readonly vault: Vault;
  readonly grants: Grants;
  readonly refresher: Refresher;
  readonly cache: TokenCache;
  readonly audit: Audit;
  readonly clock: Clock;
}

export interface Arrived {
  readonly endpoint: string;
  readonly resource: string;
  readonly issuer: string;
  readonly registrationId: string;
  readonly requestedScope: readonly string[];
  readonly answer: TokenAnswer;
  /** The label the user chose. */
  readonly account?: string;
}

export async function keepGrant(parts: KeepingParts, arrived: Arrived): Promise<Grant> {
  const account = accountOf(arrived);
  const existing = parts.grants.find(arrived.resource, arrived.issuer, account);
  const grant = existing ? await renew(parts, existing, arrived) : await create(parts, arrived, account);
  parts.cache.put(grant.id, fullScope, arrived.answer);
  await parts.audit.record({
    event: 'login',
    outcome: existing ? 'renewed' : 'new',
    grant: grant.id,
    endpoint: arrived.endpoint,
    resource: grant.resource,
    issuer: grant.issuer,
    scope: grant.scope,
  });
  return grant;
}

/** (iss, sub) of an ID token where there is one, else the label the user chose (DESIGN, Words). */
function accountOf({ account, answer, endpoint }: Arrived): string {
  const subject = answer.subject?.subject;
  if (subject === undefined) return account ?? defaultAccount;
  if (account === undefined || account === subject) return subject;
  throw new KeyturnError(
    'account_mismatch',
    `The sign-in was for ${quoted(account)}, but ${quoted(subject)} signed in.`,
    {
      hint: `Sign in as the right account: keyturn login ${endpoint}`,
    },
  );
}

async function create(parts: KeepingParts, arrived: Arrived, account: string): Promise<Grant> {
  const { vault, grants, clock } = parts;
  // The record comes first but says loginRequired: a crash in between leaves nothing that looks usable.
  const draft = await grants.add({
    endpoints: [arrived.endpoint],
    resource: arrived.resource,
    issuer: arrived.issuer,
    account,
    registrationId: arrived.registrationId,
    scope: [...arrived.answer.scope],
    requestedScope: [...arrived.requestedScope],
    state: { kind: 'loginRequired', why: 'the sign-in was not finished' },
    hasRefreshToken: arrived.answer.refreshToken !== undefined,
    createdAt: clock.now(),
  });
  await writeGrantSecret(vault, draft.id, secretFrom(arrived.answer, []));
  return grants.change(draft, { state: { kind: 'active' } });
}

async function renew(parts: KeepingParts, existing: Grant, arrived: Arrived): Promise<Grant> {
  const { vault, grants, refresher, cache } = parts;
  return refresher.exclusive(existing.id, async () => {
    const grant = grants.byId(existing.id) ?? existing;
    const superseded = grant.state.kind === 'revoked' ? [] : await supersededBy(vault, grant);
    await writeGrantSecret(vault, grant.id, secretFrom(arrived.answer, superseded));
    cache.dropGrant(grant.id);
    return grants.change(grant, {
      endpoints: [...new Set([...grant.endpoints, arrived.endpoint])],
      registrationId: arrived.registrationId,
      scope: [...arrived.answer.scope],
      requestedScope: [...arrived.requestedScope],
      state: { kind: 'active' },
      hasRefreshToken: arrived.answer.refreshToken !== undefined,
    });
  });
}

async function supersededBy(vault: Vault, grant: Grant): Promise<string[]> {
  if (!grant.hasRefreshToken) return [];
  try {
    const { refreshToken, superseded } = await readGrantSecret(vault, grant.id);
    return (refreshToken === undefined ? superseded : [...superseded, refreshToken]).slice(-mostSuperseded);
  } catch (error) {
    // A new sign-in is how a lost item is mended, so its loss must not forbid the sign-in.
    if (reasonOf(error) === 'vault_unreadable') return [];
    throw error;
  }
}

/** DESIGN, Storage: an access token is stored only where no refresh token exists. */
function secretFrom(answer: TokenAnswer, superseded: string[]): GrantSecret {
  if (answer.refreshToken !== undefined) return { refreshToken: answer.refreshToken, superseded };
  const { accessToken, issuedAt, expiresAt, scope } = answer;
  return { accessToken: { value: accessToken, issuedAt, expiresAt, scope: [...scope] }, superseded };
}
