/**
 * The last step of a sign-in: the tokens into the vault, under the new name that was reserved for it, then the name
 * into the record of the sign-in.
 *
 * Invariants: a record names an item only after its tokens are in the vault. Until then the sign-in has its earlier
 * tokens. The item of the earlier sign-in stays in the record, so that a revocation reaches every token that the server
 * still accepts. Tokens of another subject never update the sign-in they were asked for. If the user
 * approves, it becomes a separate sign-in, and the other one stays unchanged. Tokens that can't be kept are given back
 * to their server.
 */
import type { BrokerParts } from '../parts.ts';
import { KeyturnError, quoted, reasonOf, RuleRefusal, shellWord } from '../../base/errors.ts';
import { includesOfflineAccess } from '../../oauth/base/scope.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import { toWall } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { SignInSecret } from '../tokens/sign-in-secret.ts';
import { isLiving } from '../records/sign-in.ts';
import type { EarlierItem, SignIn, MetadataSource } from '../records/sign-in.ts';
import type { SignIns } from '../records/sign-ins.ts';
import { offlineOutcome } from './page-options.ts';
import type { Prompt } from './page-options.ts';
import { matchAccount } from './sign-in-account.ts';
import type { Another, TargetSignIn } from './sign-in-account.ts';
import type { SignInContext, SignInRequest } from './sign-in-context.ts';
import { fullScope, liveUntil } from '../tokens/token-cache.ts';

export interface NewTokens extends Pick<SignInContext, 'request' | 'item'> {
  readonly resource: string;
  readonly issuer: string;
  readonly registrationId: string;
  readonly server: MetadataSource;
  readonly requestedScope: readonly string[];
  readonly answer: TokenResponse;
  readonly prompts: readonly Prompt[];
}

/**
 * Asks the user whether to keep an unexpected account. Resolves after an approval; else it gives the tokens back and
 * throws, always so for a `mismatch`.
 */
export type ConfirmAccount = (another: Another) => Promise<void>;

export interface StoreSteps {
  readonly confirmAccount: ConfirmAccount;
  /** Ends the tokens at their server. Never throws. */
  readonly giveBack: () => Promise<void>;
}

/**
 * Throws what `confirmAccount`, the document and the vault throw, and `conflict` if the user ended the sign-in
 * meanwhile.
 */
export async function storeSignIn(
  parts: BrokerParts,
  received: NewTokens,
  { confirmAccount, giveBack }: StoreSteps,
): Promise<SignIn> {
  // No two sign-ins of one account make two of it.
  const place = `place ${received.resource} ${received.issuer}`;
  const tryOnce = async (isConfirmed: boolean): Promise<StoredSignIn | Another> =>
    parts.refresher.turns.take(place, async () => {
      const target = targetOf(parts, received, isConfirmed);
      return 'known' in target ? target : storeOrGiveBack(parts, received, { target, giveBack });
    });
  let stored = await tryOnce(false);
  // Match again, because the sign-ins may have changed while the user answered.
  while ('known' in stored) {
    await confirmAccount(stored);
    stored = await tryOnce(true);
  }
  const { signIn, isNew } = stored;
  await parts.audit.record({
    event: 'signIn',
    outcome: isNew ? 'new' : 'renewed',
    signIn: signIn.id,
    endpoint: received.request.endpoint,
    resource: signIn.resource,
    issuer: signIn.issuer,
    scope: signIn.scope,
  });
  return signIn;
}

interface StoredSignIn {
  readonly signIn: SignIn;
  readonly isNew: boolean;
}

/** `isConfirmed`: the user wants to keep another account than expected. */
function targetOf(
  { signIns }: BrokerParts,
  { resource, issuer, request, answer }: NewTokens,
  isConfirmed: boolean,
): TargetSignIn | Another {
  const { onlyFor } = request;
  const alone = onlyFor === undefined ? [] : signIns.aloneAt(resource, issuer, onlyFor);
  const match = matchAccount([...signIns.sharedAt(resource, issuer), ...alone], request, answer);
  if (match.kind === 'mismatch' || (match.kind === 'another' && !isConfirmed)) return match;
  const { signIn, account } = match;
  if (match.kind === 'another' || onlyFor === undefined) return { signIn, account };
  // The app's own sign-in of the account that was expected. The shared sign-in stays as it is.
  return { signIn: alone.find((one) => isLiving(one) && one.account === account), account };
}

async function storeOrGiveBack(
  parts: BrokerParts,
  received: NewTokens,
  { target, giveBack }: { readonly target: TargetSignIn } & Pick<StoreSteps, 'giveBack'>,
): Promise<StoredSignIn> {
  const { signIn } = target;
  try {
    return signIn
      ? await parts.refresher.turns.take(signIn.id, () =>
          renew(parts, received, { ...target, id: signIn.id }),
        )
      : { signIn: await begin(parts, received, target), isNew: true };
  } catch (error) {
    // Of a sign-in that was ended, the revocation has the tokens.
    if (reasonOf(error) !== 'conflict') await giveBack();
    throw error;
  }
}

async function begin(
  parts: BrokerParts,
  received: NewTokens,
  { account }: Pick<TargetSignIn, 'account'>,
): Promise<SignIn> {
  const { signIns, clock } = parts;
  const { resource, issuer } = received;
  const now = clock.wall();
  const secret = await written(parts, received, undefined);
  const fields = fieldsFrom(parts, { received, secret, found: undefined, now });
  const signIn = await signIns.add({ resource, issuer, account, createdAt: now, ...fields });
  return serving(parts, received, signIn);
}

/** Runs in the sign-in's turn: another renewal of it, a refresh or a revocation may have come first. */
async function renew(
  parts: BrokerParts,
  received: NewTokens,
  { id, account }: { readonly id: string; readonly account: string },
): Promise<StoredSignIn> {
  const { signIns, refresher, clock } = parts;
  const now = clock.wall();
  const found = signIns.byId(id);
  const { request, issuer } = received;
  const { endpoint } = request;
  if (!found) throw endedMeanwhile(request);
  if (isLiving(found) && found.isKeyBound && !received.answer.dpopKey) throw unboundNow(endpoint, issuer);
  const before = await refresher.secrets.readIfThere(found);
  const secret = await written(parts, received, before);
  const earlier = earlierOf(found, before, now);
  if (request.isAutomatic && !isLiving(found)) {
    await leaveToRevocation(parts, { id, received, secret, now });
    throw endedMeanwhile(request);
  }
  const fields = fieldsFrom(parts, { received, secret, found, now });
  // The user's label takes the place of a subject as the account's name.
  const named = request.account === account ? { account } : {};
  const isStill = (one: SignIn): boolean => one === found || (isLiving(one) && isLiving(found));
  const signIn = await signIns.update(id, (one) =>
    isStill(one) ? { ...fields, ...named, earlier } : undefined,
  );
  if (isLiving(signIn) && signIn.item === received.item)
    return { signIn: serving(parts, received, signIn), isNew: false };
  // The user ended the sign-in during the write.
  await leaveToRevocation(parts, { id, received, secret, now });
  throw endedMeanwhile(request);
}

/** The new tokens are in the vault when this resolves. */
async function written(
  { refresher, clock }: BrokerParts,
  received: NewTokens,
  before: SignInSecret | undefined,
): Promise<SignInSecret> {
  const secret = secretFrom(clock, received, before);
  await refresher.secrets.write(received.item, secret);
  return secret;
}

function serving({ refresher, cache }: BrokerParts, { answer }: NewTokens, signIn: SignIn): SignIn {
  refresher.failures.forget(signIn.id);
  cache.dropSignIn(signIn.id);
  cache.put(signIn.id, fullScope, answer);
  return signIn;
}

interface Kept {
  readonly received: NewTokens;
  readonly secret: SignInSecret;
  readonly found: SignIn | undefined;
  /** Milliseconds, wall clock. */
  readonly now: number;
}

type RecordFields = Omit<SignIn, 'id' | 'resource' | 'issuer' | 'account' | 'createdAt'>;

function fieldsFrom({ signIns }: BrokerParts, { received, secret, found, now }: Kept): RecordFields {
  const { request, registrationId, server, requestedScope, answer, item } = received;
  const { endpoint, onlyFor, isAutomatic } = request;
  return {
    endpoints: [...new Set([...(found?.endpoints ?? []), endpoint])],
    subject: answer.subject?.subject ?? null,
    purpose: onlyFor === undefined ? undefined : { kind: 'narrow', appId: onlyFor },
    registrationId,
    item,
    server,
    scope: [...answer.scope],
    // The lost scopes are back after this sign-in; the empty list records what this server does (lost-scope.ts).
    lostScope: found?.lostScope === undefined && onlyFor === undefined ? undefined : [],
    requestedScope: [...requestedScope],
    state: { kind: 'active' },
    hasRefreshToken: secret.refreshToken !== undefined,
    isKeyBound: secret.dpopKey ? true : undefined,
    signedInAt: now,
    liveUntil: undefined,
    audience: answer.audience,
    // The user named the scopes.
    ...(isAutomatic ? {} : { isExactScope: request.scope !== undefined || undefined }),
    ...offlineFields(signIns, received),
  };
}

/** The items of earlier sign-ins, without access tokens that have expired. */
function earlierOf(
  { item, registrationId, state, earlier = [] }: SignIn,
  before: SignInSecret | undefined,
  now: number,
): EarlierItem[] {
  const expiresAt = before && before.refreshToken === undefined ? before.accessToken?.expiresAt : undefined;
  const endedAt = state.kind === 'revoked' ? state.endedAt : undefined;
  const last = item === undefined ? [] : [{ item, registrationId, expiresAt, endedAt }];
  return [...earlier, ...last].filter((one) => (one.expiresAt ?? Infinity) > now);
}

/**
 * A sign-in would give Bearer tokens where the present ones are bound to a DPoP key. They stay bound until the user
 * ends the sign-in: else a server that somebody else answers for could turn the sign-in into one whose tokens work
 * anywhere.
 */
export function unboundNow(endpoint: string, issuer: string): RuleRefusal {
  return new RuleRefusal(
    'token_invalid',
    `The tokens for ${quoted(endpoint)} were bound to a DPoP key, and ${quoted(issuer)} would no longer bind them.`,
    {
      rule: 'A sign-in whose tokens are bound to a DPoP key gets no tokens without one (RFC 9449)',
      hint: `Somebody may be weakening the sign-in. If the servers really changed, revoke the sign-in and sign in again: keyturn logout ${shellWord(endpoint)}`,
    },
  );
}

function offlineFields(
  signIns: SignIns,
  { issuer, requestedScope, answer, prompts }: NewTokens,
): Pick<SignIn, 'offline'> {
  if (!includesOfflineAccess(requestedScope)) return {};
  return {
    offline: offlineOutcome(signIns, issuer, { hasCome: answer.refreshToken !== undefined, prompts }),
  };
}

/** A sign-in that the user ended while it was renewed stays ended; the new token is revoked with the others. */
async function leaveToRevocation(
  { signIns, clock, refresher }: BrokerParts,
  { id, received, secret, now }: Omit<Kept, 'found'> & { readonly id: string },
): Promise<void> {
  const { item, registrationId, answer } = received;
  await signIns.update(id, (signIn) => {
    if (isLiving(signIn)) return undefined;
    return {
      item,
      registrationId,
      hasRefreshToken: secret.refreshToken !== undefined,
      earlier: signIn.item === item ? signIn.earlier : earlierOf(signIn, undefined, now),
      // A new receipt: the earlier one doesn't cover the new token.
      state: { kind: 'revoked', receipt: 'pending', endedAt: now },
      liveUntil: liveUntil(clock, refresher.secrets.factsOf(signIn), answer),
    };
  });
}

function endedMeanwhile({ endpoint }: SignInRequest): KeyturnError {
  return new KeyturnError('conflict', `You revoked the sign-in to ${endpoint} while it was renewed.`, {
    rule: 'Only you can renew a sign-in that you revoked',
    hint: `Sign in again: keyturn login ${shellWord(endpoint)}`,
  });
}

/** An access token is stored only where no refresh token exists. */
function secretFrom(clock: Clock, { answer }: NewTokens, before: SignInSecret | undefined): SignInSecret {
  const { refreshToken, accessToken: value, scope, dpopKey, subject } = answer;
  const loginHint = subject?.loginHint ?? before?.loginHint;
  const rest = {
    dpopKey: dpopKey?.toKept(),
    scope: [...scope],
    loginHint,
    liveUntil: liveUntil(clock, before ?? {}, answer),
  };
  if (refreshToken !== undefined) return { refreshToken, ...rest };
  const issuedAt = toWall(clock, answer.issuedAt);
  const expiresAt = Number.isFinite(answer.expiresAt) ? toWall(clock, answer.expiresAt) : undefined;
  return { accessToken: { value, issuedAt, expiresAt, scope: [...scope] }, ...rest };
}
