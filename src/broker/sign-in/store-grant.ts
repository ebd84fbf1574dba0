/**
 * The last step of a sign-in: the tokens into the vault, under the new name that was reserved for it, then the name into
 * the record of the grant.
 *
 * Invariants: a record names an item only after its tokens are in the vault. Until then the grant has its earlier tokens.
 * The item of the earlier sign-in stays in the record, so that "disconnect" reaches every token that the server still
 * accepts. A sign-in that returns another subject never updates the grant it was for. If the user says yes, it becomes
 * a separate grant, and the other one stays unchanged. Tokens that can't be kept are given back to their server.
 */
import type { BrokerParts } from '../parts.ts';
import { KeyturnError, quoted, reasonOf, RuleRefusal, shellWord } from '../../base/errors.ts';
import { includesOfflineAccess } from '../../oauth/base/scope.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import { toWall } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { GrantSecret } from '../grants/grant-secret.ts';
import { isLiving } from '../records/grant.ts';
import type { EarlierItem, Grant, MetadataSource } from '../records/grant.ts';
import type { Grants } from '../records/grants.ts';
import { offlineOutcome } from './page-options.ts';
import type { Prompt } from './page-options.ts';
import { matchAccount } from './sign-in-account.ts';
import type { Another } from './sign-in-account.ts';
import { fullScope, liveUntil } from '../tokens/token-cache.ts';

export interface NewTokens {
  /** The name that was reserved in the document for the item. */
  readonly item: string;
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
  /** The one app that the tokens are for. */
  readonly onlyFor?: string | undefined;
  /** The user named the scopes. */
  readonly isExactScope: boolean;
  /** An app's request started it, not the user. */
  readonly isAutomatic: boolean;
  /** The prompts that its page was opened with. */
  readonly prompts: readonly Prompt[];
}

/** Asks the user whether to keep an unexpected account. Resolves after a yes; else throws. */
export type ConfirmAccount = (another: Another) => Promise<void>;

export interface StoreSteps {
  readonly confirmAccount: ConfirmAccount;
  /** Ends the tokens at their server. Never throws. */
  readonly giveBack: () => Promise<void>;
}

/** Throws what `confirmAccount`, the document and the vault throw, and `conflict` if the user ended the grant meanwhile. */
export async function storeGrant(
  parts: BrokerParts,
  received: NewTokens,
  { confirmAccount, giveBack }: StoreSteps,
): Promise<Grant> {
  // No two sign-ins of one account make two grants of it.
  const place = `place ${received.resource} ${received.issuer}`;
  const tryOnce = async (isConfirmed: boolean): Promise<Stored | Another> =>
    parts.refresher.turns.take(place, async () => {
      const target = targetOf(parts, received, isConfirmed);
      return 'known' in target ? target : storeOrGiveBack(parts, received, { target, giveBack });
    });
  let stored = await tryOnce(false);
  if ('known' in stored) {
    await confirmAccount(stored);
    // Match again, because the grants may have changed while the user answered.
    stored = await tryOnce(true);
  }
  if ('known' in stored) throw endedMeanwhile(received);
  const { grant, isNew } = stored;
  await parts.audit.record({
    event: 'signIn',
    outcome: isNew ? 'new' : 'renewed',
    signIn: grant.id,
    endpoint: received.endpoint,
    resource: grant.resource,
    issuer: grant.issuer,
    scope: grant.scope,
  });
  return grant;
}

interface Stored {
  readonly grant: Grant;
  readonly isNew: boolean;
}

/** The grant that keeps the tokens: the one that the sign-in is for, or a new one. */
interface Target {
  readonly grant: Grant | undefined;
  readonly account: string;
}

/** `isConfirmed`: the user wants to keep another account than expected. */
function targetOf({ grants }: BrokerParts, received: NewTokens, isConfirmed: boolean): Target | Another {
  const { resource, issuer, onlyFor } = received;
  const alone = onlyFor === undefined ? [] : grants.aloneAt(resource, issuer, onlyFor);
  const match = matchAccount([...grants.sharedAt(resource, issuer), ...alone], received);
  const { account } = { account: '', ...match };
  if (match.kind === 'expected')
    return onlyFor === undefined ? { grant: match.grant, account } : ownOf(alone, account);
  return match.kind === 'another' && isConfirmed ? { grant: match.grant, account } : match;
}

/** The app's own grant of the account that was expected. The shared grant stays as it is. */
function ownOf(alone: readonly Grant[], account: string): Target {
  return { grant: alone.find((one) => isLiving(one) && one.account === account), account };
}

async function storeOrGiveBack(
  parts: BrokerParts,
  received: NewTokens,
  { target, giveBack }: { readonly target: Target } & Pick<StoreSteps, 'giveBack'>,
): Promise<Stored> {
  const { grant } = target;
  try {
    return grant
      ? await parts.refresher.turns.take(grant.id, () => renew(parts, received, { ...target, id: grant.id }))
      : { grant: await begin(parts, received, target), isNew: true };
  } catch (error) {
    // Of a grant that was ended, the revocation has the tokens.
    if (reasonOf(error) !== 'conflict') await giveBack();
    throw error;
  }
}

async function begin(
  parts: BrokerParts,
  received: NewTokens,
  { account }: Pick<Target, 'account'>,
): Promise<Grant> {
  const { grants, clock } = parts;
  const { resource, issuer } = received;
  const now = clock.wall();
  const secret = await written(parts, received, undefined);
  const fields = fieldsFrom(parts, { received, secret, found: undefined, now });
  return serving(parts, received, await grants.add({ resource, issuer, account, createdAt: now, ...fields }));
}

/** Runs in the grant's turn: another sign-in of the same account, a refresh or a revocation may have come first. */
async function renew(
  parts: BrokerParts,
  received: NewTokens,
  { id, account }: { readonly id: string; readonly account: string },
): Promise<Stored> {
  const { grants, refresher, clock } = parts;
  const now = clock.wall();
  const found = grants.byId(id);
  if (!found) throw endedMeanwhile(received);
  if (isLiving(found) && found.isKeyBound && !received.answer.proofKey) throw unboundNow(received);
  const before = await refresher.secrets.readIfThere(found);
  const secret = await written(parts, received, before);
  const earlier = earlierOf(found, before, now);
  if (received.isAutomatic && !isLiving(found)) {
    await leaveToRevocation(parts, { id, received, secret, now });
    throw endedMeanwhile(received);
  }
  const fields = fieldsFrom(parts, { received, secret, found, now });
  // The user's label takes the place of a subject as the account's name.
  const named = received.account === account ? { account } : {};
  const isStill = (one: Grant): boolean => one === found || (isLiving(one) && isLiving(found));
  const grant = await grants.update(id, (one) =>
    isStill(one) ? { ...fields, ...named, earlier } : undefined,
  );
  if (isLiving(grant) && grant.item === received.item)
    return { grant: serving(parts, received, grant), isNew: false };
  // The user ended the grant during the write.
  await leaveToRevocation(parts, { id, received, secret, now });
  throw endedMeanwhile(received);
}

/** The new tokens are in the vault when this resolves. */
async function written(
  { refresher, clock }: BrokerParts,
  received: NewTokens,
  before: GrantSecret | undefined,
): Promise<GrantSecret> {
  const secret = secretFrom(clock, received, before);
  await refresher.secrets.write(received.item, secret);
  return secret;
}

function serving({ refresher, cache }: BrokerParts, { answer }: NewTokens, grant: Grant): Grant {
  refresher.failures.succeeded(grant.id);
  cache.dropGrant(grant.id);
  cache.put(grant.id, fullScope, answer);
  return grant;
}

interface Kept {
  readonly received: NewTokens;
  readonly secret: GrantSecret;
  readonly found: Grant | undefined;
  /** Milliseconds, wall clock. */
  readonly now: number;
}

type RecordFields = Omit<Grant, 'id' | 'resource' | 'issuer' | 'account' | 'createdAt'>;

function fieldsFrom({ grants }: BrokerParts, { received, secret, found, now }: Kept): RecordFields {
  const { endpoint, registrationId, server, requestedScope, answer, onlyFor, item } = received;
  return {
    endpoints: [...new Set([...(found?.endpoints ?? []), endpoint])],
    subject: answer.subject?.subject ?? null,
    purpose: purposeOf(received),
    registrationId,
    item,
    server,
    scope: [...answer.scope],
    // The lost scopes are back after this sign-in; the empty list records what this server does (lost-scope.ts).
    lostScope: found?.lostScope === undefined && onlyFor === undefined ? undefined : [],
    requestedScope: [...requestedScope],
    state: { kind: 'active' },
    hasRefreshToken: secret.refreshToken !== undefined,
    isKeyBound: secret.proofKey ? true : undefined,
    signedInAt: now,
    liveUntil: undefined,
    audience: answer.audience,
    ...(received.isAutomatic ? {} : { isExactScope: received.isExactScope || undefined }),
    ...offlineFields(grants, received),
  };
}

/** The items of earlier sign-ins, without access tokens that have expired. */
function earlierOf(
  { item, registrationId, earlier = [] }: Grant,
  before: GrantSecret | undefined,
  now: number,
): EarlierItem[] {
  const expiresAt = before && before.refreshToken === undefined ? before.accessToken?.expiresAt : undefined;
  const last =
    item === undefined ? [] : [{ item, registrationId, ...(expiresAt === undefined ? {} : { expiresAt }) }];
  return [...earlier, ...last].filter((one) => (one.expiresAt ?? Infinity) > now);
}

/**
 * A sign-in would give Bearer tokens where the present ones are bound to a key. They stay bound until the user ends the
 * grant: else a server that somebody else answers for could turn the grant into one whose tokens work anywhere.
 */
export function unboundNow({ endpoint, issuer }: Pick<NewTokens, 'endpoint' | 'issuer'>): RuleRefusal {
  return new RuleRefusal(
    'token_invalid',
    `The tokens for ${quoted(endpoint)} were bound to a key, and ${quoted(issuer)} would no longer bind them.`,
    {
      rule: 'A sign-in whose tokens are bound to a key gets no tokens without one (RFC 9449)',
      hint: `Somebody may be weakening the sign-in. If the servers really changed, revoke the sign-in and sign in again: keyturn logout ${shellWord(endpoint)}`,
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

/** A grant that the user ended during the sign-in stays ended; the new token is revoked with the others. */
async function leaveToRevocation(
  { grants, clock, refresher }: BrokerParts,
  { id, received, secret, now }: Omit<Kept, 'found'> & { readonly id: string },
): Promise<void> {
  const { item, registrationId, answer } = received;
  await grants.update(id, (grant) => {
    if (isLiving(grant)) return undefined;
    return {
      item,
      registrationId,
      hasRefreshToken: secret.refreshToken !== undefined,
      earlier: grant.item === item ? grant.earlier : earlierOf(grant, undefined, now),
      // A new receipt: the earlier one doesn't cover the new token.
      state: { kind: 'revoked', receipt: 'pending', endedAt: now },
      liveUntil: liveUntil(clock, refresher.secrets.factsOf(grant), answer),
    };
  });
}

function endedMeanwhile({ endpoint }: NewTokens): KeyturnError {
  return new KeyturnError('conflict', `You revoked the sign-in to ${endpoint} while it was renewed.`, {
    rule: 'Only you can renew a sign-in that you revoked',
    hint: `Sign in again: keyturn login ${shellWord(endpoint)}`,
  });
}

const purposeOf = ({ onlyFor }: NewTokens): Grant['purpose'] =>
  onlyFor === undefined ? undefined : { kind: 'narrow', appId: onlyFor };

/** An access token is stored only where no refresh token exists. */
function secretFrom(clock: Clock, { answer }: NewTokens, before: GrantSecret | undefined): GrantSecret {
  const { refreshToken, accessToken: value, scope, proofKey, subject } = answer;
  const loginHint = subject?.loginHint ?? before?.loginHint;
  const rest = {
    ...(proofKey === undefined ? {} : { proofKey: proofKey.toKept() }),
    scope: [...scope],
    loginHint,
    liveUntil: liveUntil(clock, before ?? {}, answer),
  };
  if (refreshToken !== undefined) return { refreshToken, ...rest };
  const issuedAt = toWall(clock, answer.issuedAt);
  const expiresAt = Number.isFinite(answer.expiresAt) ? { expiresAt: toWall(clock, answer.expiresAt) } : {};
  return { accessToken: { value, issuedAt, ...expiresAt, scope: [...scope] }, ...rest };
}
