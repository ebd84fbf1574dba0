/**
 * The last step of a sign-in: store the tokens in the vault, then the grant in the index.
 *
 * Invariants: a grant becomes active only after its tokens are in the vault. A sign-in that returns another subject
 * never updates the grant it was for. If the person says yes, it becomes a separate grant, and the other one stays
 * unchanged.
 */
import { KeyturnError, quoted, RuleRefusal, shellWord } from '../../base/errors.ts';
import { includesOfflineAccess } from '../../oauth/base/scope.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import type { Audit } from '../../audit/audit.ts';
import { toWall } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { Binding } from '../grants/grant-binding.ts';
import { keptSuperseded } from '../grants/grant-secret.ts';
import type { GrantSecret, Superseded } from '../grants/grant-secret.ts';
import { isLiving } from '../records/grant.ts';
import type { Grant, Grants, MetadataSource } from '../records/grant.ts';
import { offlineOutcome } from './page-options.ts';
import type { Prompt } from './page-options.ts';
import type { Refresher } from '../tokens/refresher.ts';
import { matchAccount } from './sign-in-account.ts';
import type { Another } from './sign-in-account.ts';
import { fullScope, liveUntil } from '../tokens/token-cache.ts';
import type { TokenCache } from '../tokens/token-cache.ts';

export interface StoreGrantParts {
  readonly grants: Grants;
  readonly refresher: Refresher;
  readonly cache: TokenCache;
  readonly audit: Audit;
  readonly clock: Clock;
}

export interface NewTokens {
  readonly endpoint: string;
  readonly resource: string;
  readonly issuer: string;
  readonly registrationId: string;
  readonly server: MetadataSource;
  readonly requestedScope: readonly string[];
  readonly answer: TokenResponse;
  /** The label the user chose. */
  readonly account?: string;
  /** The grant that the sign-in should renew; with `onlyFor`, or the shared grant of the same account. */
  readonly grantId?: string;
  /** The one program that the tokens are for. */
  readonly onlyFor?: string | undefined;
  /** The user named the scopes. */
  readonly isExactScope: boolean;
  /** A local client's request started it, not the user. */
  readonly isAutomatic: boolean;
  /** The prompts that its page was opened with. */
  readonly prompts: readonly Prompt[];
}

/** Asks the person whether to keep an unexpected account. Resolves after a yes; else throws. */
export type ConfirmAccount = (another: Another) => Promise<void>;

/** Throws what `confirmAccount` and the vault throw, and `conflict` if the user ended the grant meanwhile. */
export async function storeGrant(
  parts: StoreGrantParts,
  received: NewTokens,
  confirmAccount: ConfirmAccount,
): Promise<Grant> {
  const target = await targetOf(parts, received, confirmAccount);
  const { id } = target.grant ?? (await addDraft(parts, received, target.account));
  const grant = await parts.refresher.turns.take(id, () => store(parts, id, received, target));
  await parts.audit.record({
    event: 'login',
    outcome: target.grant ? 'renewed' : 'new',
    grant: grant.id,
    endpoint: received.endpoint,
    resource: grant.resource,
    issuer: grant.issuer,
    scope: grant.scope,
  });
  return grant;
}

/** The grant that keeps the tokens: the one that the sign-in is for, or a new one. */
async function targetOf(
  parts: StoreGrantParts,
  received: NewTokens,
  confirmAccount: ConfirmAccount,
): Promise<{ readonly grant: Grant | undefined; readonly account: string }> {
  const match = matchAccount(await vouchedGrants(parts, received), received);
  if (match.kind === 'expected')
    return received.onlyFor === undefined ? match : alone(parts, received, match);
  await confirmAccount(match);
  // Match again, because the grants may have changed while the person answered.
  const now = matchAccount(await vouchedGrants(parts, received), received);
  return now.kind === 'mismatch' ? Promise.reject(endedMeanwhile(received)) : now;
}

/** The grants for this resource and issuer, as the vault has them: a line in the index is not enough. */
async function vouchedGrants(parts: StoreGrantParts, received: NewTokens): Promise<readonly Grant[]> {
  await parts.refresher.compareWithVault(comparable(parts, received));
  // Again: what the vault says may differ.
  return comparable(parts, received);
}

const comparable = ({ grants }: StoreGrantParts, { resource, issuer, onlyFor }: NewTokens): Grant[] => [
  ...grants.sharedAt(resource, issuer),
  ...(onlyFor === undefined ? [] : grants.aloneAt(resource, issuer, onlyFor)),
];

/** The program's own grant of the account that was expected. The shared grant stays as it is. */
function alone(
  { grants }: StoreGrantParts,
  { resource, issuer, onlyFor = '' }: NewTokens,
  { account }: Pick<Grant, 'account'>,
): { readonly grant: Grant | undefined; readonly account: string } {
  const own = grants.aloneAt(resource, issuer, onlyFor);
  return { grant: own.find((one) => isLiving(one) && one.account === account), account };
}

/**
 * The record is written first, as loginRequired: a crash before the vault has the token leaves no grant that looks
 * usable.
 */
async function addDraft(
  { grants, clock }: StoreGrantParts,
  received: NewTokens,
  account: string,
): Promise<Grant> {
  return grants.add({
    endpoints: [received.endpoint],
    resource: received.resource,
    issuer: received.issuer,
    account,
    subject: received.answer.subject?.subject ?? null,
    purpose: purposeOf(received),
    registrationId: received.registrationId,
    server: received.server,
    scope: [...received.answer.scope],
    requestedScope: [...received.requestedScope],
    state: { kind: 'loginRequired', why: 'the sign-in was not finished', cause: 'signInUnfinished' },
    hasRefreshToken: false,
    createdAt: clock.wall(),
  });
}

/** Runs in the grant's turn: another sign-in of the same account, a refresh or a revocation may have come first. */
async function store(
  parts: StoreGrantParts,
  id: string,
  received: NewTokens,
  { account }: Pick<Grant, 'account'>,
): Promise<Grant> {
  const { grants, refresher, cache, clock } = parts;
  const before = await refresher.secrets.readIfThere(id);
  const found = grants.byId(id);
  if (!found) throw endedMeanwhile(received);
  // The person's label takes the place of a subject as the account's name.
  const grant = received.account === account ? { ...found, account } : found;
  const kept = { received, before, now: clock.wall() };
  if (received.isAutomatic && grant.state.kind === 'revoked') {
    await leaveToRevocation(parts, grant, kept);
    throw endedMeanwhile(received);
  }
  requireNoDowngrade(kept);
  const secret = secretFrom(clock, grant, kept);
  // Refused if the user ended the grant during the vault's write: the revocation finds the newest token there.
  const next = await refresher.secrets.writeBoth(id, secret, () =>
    grants.change(grant, {
      ...indexed(secret),
      state: { kind: 'active' },
      signedInAt: kept.now,
      liveUntil: liveUntil(clock, grant, received.answer),
      audience: received.answer.audience,
      // A refresh that was cut off was about a token that no longer counts.
      attempt: undefined,
      ...(received.isAutomatic ? {} : { isExactScope: received.isExactScope || undefined }),
      ...offlineFields(grants, received),
    }),
  );
  if (!grants.isCurrent(next)) throw endedMeanwhile(received);
  refresher.succeeded(id);
  cache.dropGrant(id);
  cache.put(id, fullScope, received.answer);
  return next;
}

/**
 * Tokens that were bound to a key stay bound, until the user ends the grant: else a server that somebody else answers
 * for could turn the grant into one whose tokens work anywhere.
 */
function requireNoDowngrade({ received, before }: Kept): void {
  if (before?.proofKey === undefined || before.binding.revokedAt !== undefined) return;
  if (!received.answer.proofKey) throw unboundNow(received);
}

/** A sign-in would give Bearer tokens where the present ones are bound to a key. */
export function unboundNow({ endpoint, issuer }: Pick<NewTokens, 'endpoint' | 'issuer'>): RuleRefusal {
  return new RuleRefusal(
    'token_invalid',
    `The tokens for ${quoted(endpoint)} were bound to a key, and ${quoted(issuer)} would no longer bind them.`,
    {
      rule: 'A grant whose tokens are bound to a key gets no tokens without one (RFC 9449)',
      hint: `Somebody may be weakening the sign-in. If the servers really changed, end the grant and sign in anew: keyturn revoke ${shellWord(endpoint)}`,
    },
  );
}

function offlineFields(
  grants: Grants,
  { issuer, requestedScope, answer, prompts }: NewTokens,
): Pick<Grant, 'offline'> {
  if (!includesOfflineAccess(requestedScope)) return {};
  return { offline: offlineOutcome(grants, issuer, { hasCome: answer.refreshToken !== undefined, prompts }) };
}

/** A grant that the user ended during an automatic sign-in stays ended; the new token is revoked with the others. */
async function leaveToRevocation(
  { grants, refresher, clock }: StoreGrantParts,
  grant: Grant,
  kept: Kept,
): Promise<void> {
  const secret = secretFrom(clock, grant, kept);
  const binding = { ...secret.binding, revokedAt: kept.now };
  await refresher.secrets.writeBoth(grant.id, { ...secret, binding }, () =>
    grants.change(grant, {
      ...indexed(secret),
      // A new receipt: the earlier one doesn't cover the new token.
      state: { kind: 'revoked', receipt: 'pending', endedAt: kept.now },
      liveUntil: liveUntil(clock, grant, kept.received.answer),
    }),
  );
}

function endedMeanwhile({ endpoint }: NewTokens): KeyturnError {
  return new KeyturnError('conflict', `The grant for ${endpoint} was ended during the sign-in.`, {
    rule: 'Only you can start again a grant that you ended',
    hint: `Sign in again: keyturn login ${shellWord(endpoint)}`,
  });
}

const purposeOf = ({ onlyFor }: NewTokens): Grant['purpose'] =>
  onlyFor === undefined ? undefined : { kind: 'narrow', clientId: onlyFor };

/** The fields that the index repeats from the vault. */
function indexed({ binding, refreshToken, proofKey }: GrantSecret): Partial<Grant> {
  const { endpoints, subject, purpose, registrationId, server, scope, lostScope, requestedScope } = binding;
  const hasRefreshToken = refreshToken !== undefined;
  const bound = { endpoints, subject, purpose, registrationId, server, scope, lostScope, requestedScope };
  return { ...bound, hasRefreshToken, isKeyBound: proofKey ? true : undefined };
}

/** What goes into the vault together. */
interface Kept {
  readonly received: NewTokens;
  readonly before: GrantSecret | undefined;
  /** Milliseconds, wall clock. */
  readonly now: number;
}

/** Tokens that the server may still accept but that are no longer used, kept for a later revocation. */
function supersededBy({ before, now }: Kept): Superseded[] {
  if (!before) return [];
  const { refreshToken, binding, registrationId = binding.registrationId, superseded } = before;
  const replaced: Superseded[] =
    refreshToken === undefined ? [] : [{ value: refreshToken, hint: 'refresh_token', registrationId }];
  return keptSuperseded([...superseded, ...replaced], now);
}

/** An access token is stored only where no refresh token exists. */
function secretFrom(clock: Clock, grant: Grant, kept: Kept): GrantSecret {
  const { answer, registrationId } = kept.received;
  const { refreshToken, accessToken: value, scope, proofKey } = answer;
  const rest = {
    registrationId,
    ...(proofKey === undefined ? {} : { proofKey: proofKey.toKept() }),
    superseded: supersededBy(kept),
    binding: newBinding(grant, kept),
  };
  if (refreshToken !== undefined) return { refreshToken, ...rest };
  const issuedAt = toWall(clock, answer.issuedAt);
  const expiresAt = Number.isFinite(answer.expiresAt) ? { expiresAt: toWall(clock, answer.expiresAt) } : {};
  return { accessToken: { value, issuedAt, ...expiresAt, scope: [...scope] }, ...rest };
}

/**
 * Built from the sign-in and the vault's earlier binding. From the index it takes only when the grant began, which
 * gives no access.
 */
function newBinding({ createdAt, account, generation }: Grant, { received, before, now }: Kept): Binding {
  const { endpoint, resource, issuer, registrationId, server, requestedScope, answer } = received;
  const loginHint = answer.subject?.loginHint ?? before?.binding.loginHint;
  return {
    endpoints: [...new Set([...(before?.binding.endpoints ?? []), endpoint])],
    resource,
    issuer,
    account,
    subject: answer.subject?.subject ?? null,
    purpose: purposeOf(received),
    registrationId,
    server,
    scope: [...answer.scope],
    // The lost scopes are back after this sign-in; the empty list records what this server does (lost-scope.ts).
    lostScope: before?.binding.lostScope === undefined && received.onlyFor === undefined ? undefined : [],
    requestedScope: [...requestedScope],
    createdAt,
    generation: generation + 1,
    signedInAt: now,
    loginHint,
  };
}
