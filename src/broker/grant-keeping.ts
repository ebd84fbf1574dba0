/**
 * The last step of a sign-in: tokens into the vault, then the grant.
 *
 * Invariants: a grant is active only once its tokens are in the vault. A step-up that comes back as
 * another subject never updates the grant it was for (DESIGN, Words: account); it is refused, and the
 * grant stays as it was.
 */
import { KeyturnError, quoted, reasonOf } from '../errors.ts';
import type { TokenAnswer } from '../oauth/token.ts';
import type { Audit } from './audit.ts';
import { toWall } from './clock.ts';
import type { Clock } from './clock.ts';
import { keptSuperseded } from './grant-secret.ts';
import type { GrantSecret, Superseded } from './grant-secret.ts';
import { defaultAccount } from './grant.ts';
import type { Grant, Grants, ServerPlace } from './grant.ts';
import type { Refresher } from './refresher.ts';
import { fullScope } from './token-cache.ts';
import type { TokenCache } from './token-cache.ts';

export interface KeepingParts {
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
  readonly server: ServerPlace;
  readonly requestedScope: readonly string[];
  readonly answer: TokenAnswer;
  /** The label the user chose. */
  readonly account?: string;
  /** A local client's request started it, not the user. */
  readonly isAutomatic: boolean;
}

/** Throws `account_mismatch`; `conflict` when the user ended the grant meanwhile; and what the vault throws. */
export async function keepGrant(parts: KeepingParts, arrived: Arrived): Promise<Grant> {
  const account = accountOf(arrived);
  const existing = parts.grants.find(arrived.resource, arrived.issuer, account);
  const { id } = existing ?? (await addDraft(parts, arrived, account));
  const grant = await parts.refresher.exclusive(id, () => store(parts, id, arrived));
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

/** The record comes first but says loginRequired: a crash before the vault has the token leaves nothing that looks usable. */
async function addDraft({ grants, clock }: KeepingParts, arrived: Arrived, account: string): Promise<Grant> {
  return grants.add({
    endpoints: [arrived.endpoint],
    resource: arrived.resource,
    issuer: arrived.issuer,
    account,
    registrationId: arrived.registrationId,
    server: arrived.server,
    scope: [...arrived.answer.scope],
    requestedScope: [...arrived.requestedScope],
    state: { kind: 'loginRequired', why: 'the sign-in was not finished' },
    hasRefreshToken: false,
    createdAt: clock.wall(),
  });
}

/** In the grant's turn: another sign-in of the same account, a refresh or a revocation may have come first. */
async function store(parts: KeepingParts, id: string, arrived: Arrived): Promise<Grant> {
  const { grants, refresher, cache, clock } = parts;
  const grant = grants.byId(id);
  if (!grant) throw endedMeanwhile(arrived);
  const superseded = await supersededBy(refresher, grant, clock.wall());
  if (arrived.isAutomatic && grant.state.kind === 'revoked') {
    await leaveToRevocation(parts, grant, arrived, superseded, clock.wall());
    throw endedMeanwhile(arrived);
  }
  await refresher.secrets.write(id, secretFrom(parts.clock, arrived, superseded));
  // Refused where the user ended the grant while the vault wrote: the revocation finds the newest token there.
  const kept = await grants.change(grant, {
    endpoints: [...new Set([...grant.endpoints, arrived.endpoint])],
    registrationId: arrived.registrationId,
    server: arrived.server,
    scope: [...arrived.answer.scope],
    requestedScope: [...arrived.requestedScope],
    state: { kind: 'active' },
    hasRefreshToken: arrived.answer.refreshToken !== undefined,
    signedInAt: clock.wall(),
    liveUntil: liveUntil(clock, grant, arrived.answer),
    // A refresh that came to nothing was about a token that no longer counts.
    attempt: undefined,
  });
  if (!grants.isCurrent(kept)) throw endedMeanwhile(arrived);
  refresher.backoff.succeeded(id);
  cache.dropGrant(id);
  cache.put(id, fullScope, arrived.answer);
  return kept;
}

/** What the user ended during an automatic sign-in stays ended; the token that came is revoked with the rest. */
async function leaveToRevocation(
  { grants, refresher, clock }: KeepingParts,
  grant: Grant,
  arrived: Arrived,
  superseded: Superseded[],
  now: number,
): Promise<void> {
  const { answer, registrationId } = arrived;
  await refresher.secrets.write(grant.id, secretFrom(clock, arrived, superseded));
  await grants.change(grant, {
    registrationId,
    // A new promise: what became of the earlier one says nothing about the token that came.
    state: { kind: 'revoked', receipt: 'pending', endedAt: now },
    hasRefreshToken: answer.refreshToken !== undefined,
    liveUntil: liveUntil(clock, grant, answer),
  });
}

function endedMeanwhile({ endpoint }: Arrived): KeyturnError {
  return new KeyturnError('conflict', `The grant for ${endpoint} was ended during the sign-in.`, {
    rule: 'What the user ended, only the user starts again',
    hint: `Sign in again: keyturn login ${endpoint}`,
  });
}

/** Every token that the server may still honour and that nobody uses from now on, for a later revocation. */
async function supersededBy({ secrets }: Refresher, grant: Grant, now: number): Promise<Superseded[]> {
  try {
    const { refreshToken, registrationId = grant.registrationId, superseded } = await secrets.read(grant.id);
    const replaced: Superseded[] =
      refreshToken === undefined ? [] : [{ value: refreshToken, hint: 'refresh_token', registrationId }];
    return keptSuperseded([...superseded, ...replaced], now);
  } catch (error) {
    // None yet; or a lost item, which a new sign-in mends, so its loss must not forbid the sign-in.
    if (reasonOf(error) === 'vault_unreadable') return [];
    throw error;
  }
}

/** DESIGN, Storage: an access token is stored only where no refresh token exists. */
function secretFrom(
  clock: Clock,
  { answer, registrationId }: Arrived,
  superseded: Superseded[],
): GrantSecret {
  const { refreshToken, accessToken: value, scope } = answer;
  if (refreshToken !== undefined) return { refreshToken, registrationId, superseded };
  const issuedAt = toWall(clock, answer.issuedAt);
  const expiresAt = toWall(clock, answer.expiresAt);
  return { accessToken: { value, issuedAt, expiresAt, scope: [...scope] }, registrationId, superseded };
}

/** Earlier tokens may outlive the new one. By the wall clock. */
function liveUntil(clock: Clock, grant: Grant, { expiresAt }: TokenAnswer): number {
  return Math.max(grant.liveUntil ?? 0, toWall(clock, expiresAt));
}
