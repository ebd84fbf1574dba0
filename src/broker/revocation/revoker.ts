/**
 * Ends sign-ins: here at once, and at the authorization server by RFC 7009.
 *
 * Invariants: a sign-in ends on this machine before the server is asked, so that a dead network can't keep it alive. It
 * ends in memory at once, and in the document before the answer. If the document can't be written, the server is asked
 * all the same, the tokens are deleted, and the caller learns of it. The record keeps the names of the items until the
 * server has answered for each token or offers no revocation, or until a month of failed tries is over; the receipt says
 * which.
 */
import type { BrokerParts } from '../parts.ts';
import { reasonOf, Unreachable } from '../../base/errors.ts';
import { isSelfContained } from '../../oauth/grants/token-response.ts';
import { backoffDelay } from '../../base/backoff.ts';
import { isLiving, itemsIn } from '../records/sign-in.ts';
import { noSignInWithId } from '../records/sign-ins.ts';
import type { EarlierItem, SignIn, RevokedState } from '../records/sign-in.ts';
import { heldOf, readAll, revokeAtServer, secretOfRemaining, tokensToRevoke } from './tokens-to-revoke.ts';
import type { AnsweredToken, ServerRevocation } from './tokens-to-revoke.ts';

export type Receipt = RevokedState['receipt'];

/** Milliseconds. A laptop that comes back online retries soon; a server that is gone costs four requests a day. */
const firstPause = 60_000;
const maxPause = 6 * 60 * 60 * 1000;
/** Milliseconds: 30 days. By then most servers have ended an unused refresh token themselves. */
const maxRetryAge = 30 * 24 * 60 * 60 * 1000;

/** Throws `not_found`, and as the document: then the end holds in memory. If server or vault fails: `pending`. */
export async function revokeSignIn(parts: BrokerParts, named: SignIn): Promise<RevocationTry> {
  // Before our turn: a slow refresh must not keep the sign-in alive for the requests that wait for it.
  const ending = endHere(parts, named.id);
  // The turn below awaits this promise; until then its rejection must not count as unhandled.
  ending.catch(() => undefined);
  return parts.refresher.turns.take(named.id, async () => {
    const { failure } = await ending;
    // End it again: a sign-in that was in the queue before us may have revived it, and this call came later.
    const { signIn, state } = await endHere(parts, named.id);
    const isDue = state.receipt === 'pending';
    const tried = isDue ? await tryServer(parts, signIn, state) : { signIn, receipt: state.receipt };
    if (isDue) await record(parts, tried);
    if (failure !== undefined) throw failure;
    return tried;
  });
}

/** Retries, unless the sign-in has changed since: a user signed in again, or asked for a try just now. */
export async function retryRevocation(parts: BrokerParts, pending: PendingSignIn): Promise<void> {
  await parts.refresher.turns.take(pending.id, async () => {
    if (!parts.signIns.isCurrent(pending)) return;
    const tried = await tryServer(parts, pending, pending.state);
    if (tried.receipt !== 'pending') await record(parts, tried);
  });
}

/** Before a new sign-in, since some servers end the new tokens with the old ones. Never rejects. */
export async function retryBeforeSignIn(parts: BrokerParts, endpoint: string): Promise<void> {
  const now = parts.clock.wall();
  for (const signIn of parts.signIns.forEndpoint(endpoint).filter(isPending))
    if ((signIn.state.notBefore ?? 0) <= now) await retryRevocation(parts, signIn).catch(() => undefined);
}

/** Earlier sign-ins whose tokens are kept for a revocation: servers end older ones long before. */
const maxEarlier = 8;

/** The oldest of them, if there are too many. */
export const tooMany = (earlier: readonly EarlierItem[]): readonly EarlierItem[] =>
  earlier.slice(0, -maxEarlier);

/** Those whose revocation the user was promised, as long as they are tried. `now`: milliseconds since 1970. */
export const promised = (earlier: readonly EarlierItem[], now: number): readonly EarlierItem[] =>
  earlier.filter(({ endedAt }) => endedAt !== undefined && now < triedUntil({ endedAt }));

/** Revokes the tokens of earlier sign-ins that `chosen` names. What can't be revoked now stays. */
export async function revokeEarlier(
  parts: BrokerParts,
  { id }: SignIn,
  chosen: (earlier: readonly EarlierItem[]) => readonly EarlierItem[],
): Promise<void> {
  await parts.refresher.turns.take(id, async () => {
    const signIn = current(parts, id);
    const ending = chosen(signIn.earlier ?? []);
    const { held, failure } = await heldOf(parts, ending, false);
    if (failure !== undefined) throw failure;
    const outcome = await revokeAtServer(parts, signIn, tokensToRevoke(held, parts.clock.wall()));
    const isOver = ({ item }: EarlierItem): boolean =>
      ending.some((one) => one.item === item) && outcome.left.every((token) => token.item !== item);
    await parts.signIns.update(id, ({ earlier }) => ({ earlier: earlier?.filter((one) => !isOver(one)) }));
    await parts.items.tidy();
  });
}

/** Stops telling the server, because the tokens are about to be forgotten here. */
export async function abandonRevocation(parts: BrokerParts, { id }: SignIn): Promise<RevocationTry> {
  return parts.refresher.turns.take(id, async () => {
    const { signIn, state } = await endHere(parts, id);
    if (state.receipt !== 'pending') return { signIn, receipt: state.receipt };
    const { liveUntil = 0 } = signIn;
    return finish(parts, signIn, { receipt: state.answer ?? 'abandoned', liveUntil });
  });
}

export type PendingSignIn = SignIn & { readonly state: RevokedState & { readonly receipt: 'pending' } };

export function isPending(signIn: SignIn): signIn is PendingSignIn {
  return signIn.state.kind === 'revoked' && signIn.state.receipt === 'pending';
}

/** When the tries of a pending revocation stop, in milliseconds since 1970. */
export function triedUntil({ endedAt }: Pick<RevokedState, 'endedAt'>): number {
  return endedAt + maxRetryAge;
}

interface EndedHere {
  readonly signIn: SignIn;
  readonly state: RevokedState;
  /** Why the end is only in memory. */
  readonly failure?: unknown;
}

async function endHere(parts: BrokerParts, signInId: string): Promise<EndedHere> {
  const { cache, clock, signIns, refresher } = parts;
  cache.retire(signInId);
  const state: RevokedState = { kind: 'revoked', receipt: 'pending', endedAt: clock.wall() };
  const failure = await signIns
    .update(signInId, (signIn) =>
      isLiving(signIn) ? { state, liveUntil: refresher.secrets.factsOf(signIn).liveUntil } : undefined,
    )
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  const signIn = current(parts, signInId);
  if (signIn.state.kind !== 'revoked') throw failure;
  return { signIn, state: signIn.state, failure };
}

function current({ signIns }: BrokerParts, signInId: string): SignIn {
  const signIn = signIns.byId(signInId);
  if (signIn) return signIn;
  throw noSignInWithId(signInId);
}

interface RevocationTry {
  readonly signIn: SignIn;
  readonly receipt: Receipt;
}

/** Runs in the sign-in's turn. The record keeps the names of the items until all tokens are settled. */
async function tryServer(parts: BrokerParts, signIn: SignIn, state: RevokedState): Promise<RevocationTry> {
  const { cache, clock, refresher } = parts;
  const read = await readAll(parts, signIn);
  const outcome = await revokeAtServer(parts, signIn, tokensToRevoke(read.held, clock.wall()));
  const answer = read.isOwnUnread ? state.answer : answerIn(outcome, state.answer);
  const known = { answer, liveUntil: stillLive(parts, signIn, outcome) };
  const failure = read.failure ?? outcome.failure;
  if (read.isWritten || outcome.left.length === 0) cache.forgetRetired(signIn.id);
  if (failure === undefined) {
    // Without a failure, an item that was not read is missing: its server can't be asked.
    const receipt = answer ?? (read.isOwnUnread ? 'abandoned' : 'notOffered');
    return finish(parts, signIn, { ...known, receipt });
  }
  for (const { item, secret } of read.held) {
    const left = outcome.left.filter((token) => token.item === item);
    const hasAnswered = outcome.answered.some(({ token }) => token.item === item);
    if (item !== undefined && hasAnswered && left.length > 0)
      await refresher.secrets.writeIfPossible(item, secretOfRemaining(secret, left));
  }
  const isOver = ({ item }: EarlierItem): boolean =>
    read.held.some((one) => one.item === item) && outcome.left.every((token) => token.item !== item);
  const earlier = signIn.earlier?.filter((one) => !isOver(one));
  return later(parts, { ...signIn, earlier }, state, { ...known, failure });
}

const isConfirmed = ({ revocation }: AnsweredToken): boolean => revocation === 'confirmed';

/** The refresh token's answer decides, since not every server revokes access tokens. Undefined: no answer yet. */
function answerIn(
  { answered, left }: ServerRevocation,
  before: RevokedState['answer'],
): RevokedState['answer'] {
  const own = answered.find(({ token }) => token.isCurrent);
  if (own) return isConfirmed(own) ? 'confirmed' : 'notOffered';
  if (left.some(({ isCurrent }) => isCurrent)) return undefined;
  return before ?? (answered.some(isConfirmed) ? 'confirmed' : undefined);
}

/** Milliseconds: one steady instant, converted to wall-clock time twice, may differ by this much (base/clock.ts). */
const sameInstant = 1000;

/**
 * When the last access token that may still work somewhere expires. RFC 7009 §2.2: a server also answers 200 for a
 * token that it doesn't recognise, and a self-contained token stays valid at any server that checks only its
 * signature. So a confirmed revocation is reliable only for an opaque token.
 */
function stillLive({ refresher }: BrokerParts, signIn: SignIn, { answered, left }: ServerRevocation): number {
  const expiry = ({ expiresAt = 0 }: { readonly expiresAt?: number | undefined }): number => expiresAt;
  const isOver = (one: AnsweredToken): boolean => isConfirmed(one) && !isSelfContained(one.token.value);
  const ended = answered.filter(isOver).map(({ token }) => expiry(token));
  const alive = [...answered.filter((one) => !isOver(one)).map(({ token }) => token), ...left].map(expiry);
  const newest = signIn.liveUntil ?? refresher.secrets.factsOf(signIn).liveUntil ?? 0;
  return Math.max(0, ...alive, Math.max(0, ...ended) + sameInstant >= newest ? 0 : newest);
}

interface Known {
  readonly answer: RevokedState['answer'];
  /** Milliseconds since 1970. */
  readonly liveUntil: number;
}

/** Makes the receipt final and removes the sign-in's tokens here. */
async function finish(
  parts: BrokerParts,
  signIn: SignIn,
  { receipt, liveUntil }: { readonly receipt: Receipt; readonly liveUntil: number },
): Promise<RevocationTry> {
  const { cache, clock, items, refresher } = parts;
  const now = clock.wall();
  const endedAt = endOf(signIn, now);
  cache.forgetRetired(signIn.id);
  const ended = await changed(parts, signIn, {
    state: { kind: 'revoked', receipt, endedAt },
    hasRefreshToken: false,
    item: undefined,
    earlier: undefined,
    liveUntil,
    ...(receipt === 'confirmed' && { confirmedEnd: { endedAt, confirmedAt: now } }),
  });
  refresher.secrets.forget(itemsIn(signIn));
  await items.tidy();
  return { signIn: ended, receipt };
}

/** Also if the document can't be written: then the change holds until the broker ends. */
async function changed(parts: BrokerParts, signIn: SignIn, fields: Partial<SignIn>): Promise<SignIn> {
  await parts.signIns.update(signIn.id, () => fields).catch(() => undefined);
  return current(parts, signIn.id);
}

/** Schedules the next try, unless the time for tries is over. */
async function later(
  parts: BrokerParts,
  signIn: SignIn,
  state: RevokedState,
  { failure, answer, liveUntil }: Known & { readonly failure: unknown },
): Promise<RevocationTry> {
  const { clock, audit } = parts;
  const now = clock.wall();
  audit.note({ event: 'revoke', outcome: reasonOf(failure), signIn: signIn.id, issuer: signIn.issuer });
  if (now >= triedUntil(state)) return finish(parts, signIn, { receipt: answer ?? 'abandoned', liveUntil });
  const tries = (state.tries ?? 0) + 1;
  // If a server says "in a year", it gets its last request when the time for tries is over.
  const last = Math.max(triedUntil(state), now + firstPause);
  const wait = failure instanceof Unreachable ? (failure.retryAfter ?? 0) : 0;
  const asked = Math.min(now + wait * 1000, last);
  const next: RevokedState = {
    kind: 'revoked',
    receipt: 'pending',
    endedAt: endOf(signIn, now),
    tries,
    nextTryAt: Math.max(asked, now + backoffDelay(tries, firstPause, maxPause)),
    notBefore: asked > now ? asked : undefined,
    answer,
  };
  const { earlier } = signIn;
  return { signIn: await changed(parts, signIn, { state: next, liveUntil, earlier }), receipt: 'pending' };
}

function endOf({ state }: SignIn, now: number): number {
  return state.kind === 'revoked' ? state.endedAt : now;
}

async function record({ audit }: BrokerParts, { signIn, receipt }: RevocationTry): Promise<void> {
  const { id, resource, issuer } = signIn;
  await audit.record({ event: 'revoke', outcome: receipt, signIn: id, resource, issuer });
}
