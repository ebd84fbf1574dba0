/**
 * Ends grants: here at once, and at the authorization server by RFC 7009.
 *
 * Invariants: a grant ends on this machine before the server is asked, so that a dead network can't keep it alive. It
 * ends in memory at once, and in the document before the answer. If the document can't be written, the server is asked
 * all the same, the tokens are deleted, and the caller learns of it. The record keeps the names of the items until the
 * server has answered for each token or offers no revocation, or until a month of failed tries is over; the receipt says
 * which.
 */
import type { BrokerParts } from '../parts.ts';
import { reasonOf } from '../../base/errors.ts';
import { isSelfContained } from '../../oauth/grants/token-response.ts';
import { backoffDelay } from '../../base/backoff.ts';
import { isLiving, itemsIn } from '../records/grant.ts';
import { noGrant } from '../records/grants.ts';
import type { EarlierItem, Grant, Revoked } from '../records/grant.ts';
import { secretOfRemaining, tokensToRevoke, heldOf, readAll } from './tokens-to-revoke.ts';

import { revokeAtServer, waitAskedBy } from './server-revocation.ts';
import type { ServerRevocation, AnsweredToken } from './server-revocation.ts';

export type Receipt = Revoked['receipt'];

/**
 * Milliseconds: 1 min, doubling to 6 h. A laptop that comes back online retries soon; a server that is gone costs
 * four requests a day.
 */
const firstPause = 60_000;
const maxPause = 6 * 60 * 60 * 1000;
/** Milliseconds: 30 days. By then most servers have ended an unused refresh token themselves. */
const maxRetryAge = 30 * 24 * 60 * 60 * 1000;

/**
 * Throws `not_found`, and what the document throws if the end couldn't be stored; then it holds until the broker ends.
 * If the server or the vault fails now, the revocation is `pending`.
 */
export async function revokeGrant(
  parts: BrokerParts,
  named: Grant,
): Promise<{ grant: Grant; receipt: Receipt }> {
  // Before our turn: a slow refresh must not keep the grant alive for the requests that wait for it.
  const ending = endHere(parts, named.id);
  // The turn below awaits this promise; until then its rejection must not count as unhandled.
  ending.catch(() => undefined);
  return parts.refresher.turns.take(named.id, async () => {
    const { failure } = await ending;
    // End it again: a sign-in that was in the queue before us may have revived it, and this call came later.
    const { grant, state } = await endHere(parts, named.id);
    const tried =
      state.receipt === 'pending' ? await tryServer(parts, grant, state) : { grant, receipt: state.receipt };
    if (state.receipt === 'pending') await record(parts, tried.grant, tried.receipt);
    if (failure !== undefined) throw failure;
    return tried;
  });
}

/** Retries, unless the grant has changed since: a user signed in again, or asked for a try just now. */
export async function retryRevocation(parts: BrokerParts, pending: PendingGrant): Promise<void> {
  await parts.refresher.turns.take(pending.id, async () => {
    if (!parts.grants.isCurrent(pending)) return;
    const { grant, receipt } = await tryServer(parts, pending, pending.state);
    if (receipt !== 'pending') await record(parts, grant, receipt);
  });
}

/** Earlier sign-ins whose tokens are kept for a revocation: servers end older ones long before. */
const maxEarlier = 8;

/** The oldest of them, if there are too many. */
export const tooMany = (earlier: readonly EarlierItem[]): readonly EarlierItem[] =>
  earlier.slice(0, -maxEarlier);

/** Revokes the tokens of earlier sign-ins that `chosen` names. What can't be revoked now stays. */
export async function revokeEarlier(
  parts: BrokerParts,
  { id }: Grant,
  chosen: (earlier: readonly EarlierItem[]) => readonly EarlierItem[],
): Promise<void> {
  await parts.refresher.turns.take(id, async () => {
    const grant = current(parts, id);
    const ending = chosen(grant.earlier ?? []);
    const { held, failure } = await heldOf(parts, ending, false);
    if (failure !== undefined) throw failure;
    const outcome = await revokeAtServer(parts, grant, tokensToRevoke(held, parts.clock.wall()));
    const isOver = ({ item }: EarlierItem): boolean =>
      ending.some((one) => one.item === item) && outcome.left.every((token) => token.item !== item);
    await parts.grants.update(id, ({ earlier = [] }) => ({ earlier: earlier.filter((one) => !isOver(one)) }));
    await parts.items.tidy();
  });
}

/** Stops telling the server, because the tokens are about to be forgotten here. */
export async function abandonRevocation(
  parts: BrokerParts,
  { id }: Grant,
): Promise<{ grant: Grant; receipt: Receipt }> {
  return parts.refresher.turns.take(id, async () => {
    const { grant, state } = await endHere(parts, id);
    if (state.receipt !== 'pending') return { grant, receipt: state.receipt };
    const { liveUntil = 0 } = grant;
    return finish(parts, grant, { receipt: state.answer ?? 'abandoned', liveUntil });
  });
}

export type PendingGrant = Grant & { readonly state: Revoked & { readonly receipt: 'pending' } };

export function isPending(grant: Grant): grant is PendingGrant {
  return grant.state.kind === 'revoked' && grant.state.receipt === 'pending';
}

/** When the tries of a pending revocation stop, in milliseconds since 1970. */
export function triedUntil({ endedAt }: Revoked): number {
  return endedAt + maxRetryAge;
}

interface EndedHere {
  readonly grant: Grant;
  readonly state: Revoked;
  /** Why the end is only in memory. */
  readonly failure?: unknown;
}

/** Ends the grant on this machine at once. */
async function endHere(parts: BrokerParts, grantId: string): Promise<EndedHere> {
  const { cache, clock, grants, refresher } = parts;
  cache.retire(grantId);
  const state: Revoked = { kind: 'revoked', receipt: 'pending', endedAt: clock.wall() };
  const failure = await grants
    .update(grantId, (grant) =>
      isLiving(grant) ? { state, liveUntil: refresher.secrets.factsOf(grant).liveUntil } : undefined,
    )
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  const grant = current(parts, grantId);
  if (grant.state.kind !== 'revoked') throw failure;
  return { grant, state: grant.state, failure };
}

function current({ grants }: BrokerParts, grantId: string): Grant {
  const grant = grants.byId(grantId);
  if (grant) return grant;
  throw noGrant(grantId);
}

interface Tried {
  readonly grant: Grant;
  readonly receipt: Receipt;
}

/** Runs in the grant's turn. The record keeps the names of the items until all tokens are settled. */
async function tryServer(parts: BrokerParts, grant: Grant, state: Revoked): Promise<Tried> {
  const { cache, clock, refresher } = parts;
  const read = await readAll(parts, grant);
  const outcome = await revokeAtServer(parts, grant, tokensToRevoke(read.held, clock.wall()));
  const answer = read.isOwnUnread ? state.answer : answerIn(outcome, state.answer);
  const known = { answer, liveUntil: stillLive(parts, grant, outcome) };
  const failure = read.failure ?? outcome.failure;
  if (read.isWritten || outcome.left.length === 0) cache.forgetRetired(grant.id);
  if (failure === undefined) {
    // Without a failure, an item that was not read is missing: its server can't be asked.
    const receipt = answer ?? (read.isOwnUnread ? 'abandoned' : 'notOffered');
    return finish(parts, grant, { ...known, receipt });
  }
  for (const { item, secret } of read.held) {
    const left = outcome.left.filter((token) => token.item === item);
    const hasAnswered = outcome.answered.some(({ token }) => token.item === item);
    if (item !== undefined && hasAnswered && left.length > 0)
      await refresher.secrets.writeIfPossible(item, secretOfRemaining(secret, left));
  }
  const isOver = ({ item }: EarlierItem): boolean =>
    read.held.some((one) => one.item === item) && outcome.left.every((token) => token.item !== item);
  const earlier = grant.earlier?.filter((one) => !isOver(one));
  return later(parts, { ...grant, earlier }, state, { ...known, failure });
}

const isConfirmed = ({ revocation }: AnsweredToken): boolean => revocation === 'confirmed';

/**
 * The server's answer for the receipt. The refresh token's answer decides, if there is one, because not every server
 * can revoke an access token. Undefined until the server has answered.
 */
function answerIn({ answered, left }: ServerRevocation, before: Revoked['answer']): Revoked['answer'] {
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
function stillLive({ refresher }: BrokerParts, grant: Grant, { answered, left }: ServerRevocation): number {
  const expiry = ({ expiresAt = 0 }: { readonly expiresAt?: number | undefined }): number => expiresAt;
  const isOver = (one: AnsweredToken): boolean => isConfirmed(one) && !isSelfContained(one.token.value);
  const ended = answered.filter(isOver).map(({ token }) => expiry(token));
  const alive = [...answered.filter((one) => !isOver(one)).map(({ token }) => token), ...left].map(expiry);
  const newest = grant.liveUntil ?? refresher.secrets.factsOf(grant).liveUntil ?? 0;
  return Math.max(0, ...alive, Math.max(0, ...ended) + sameInstant >= newest ? 0 : newest);
}

/** The result of a try. */
interface Known {
  readonly answer: Revoked['answer'];
  /** Milliseconds since 1970. */
  readonly liveUntil: number;
}

/** Makes the receipt final and removes the grant's tokens here. */
async function finish(
  parts: BrokerParts,
  grant: Grant,
  { receipt, liveUntil }: { readonly receipt: Receipt; readonly liveUntil: number },
): Promise<Tried> {
  const { cache, clock, items, refresher } = parts;
  const now = clock.wall();
  const endedAt = endOf(grant, now);
  cache.forgetRetired(grant.id);
  const ended = await changed(parts, grant, {
    state: { kind: 'revoked', receipt, endedAt },
    hasRefreshToken: false,
    item: undefined,
    earlier: undefined,
    liveUntil,
    ...(receipt === 'confirmed' ? { confirmedEnd: { endedAt, confirmedAt: now } } : {}),
  });
  refresher.secrets.forget(itemsIn(grant));
  await items.tidy();
  return { grant: ended, receipt };
}

/** Also if the document can't be written: then the change holds until the broker ends. */
async function changed(parts: BrokerParts, grant: Grant, fields: Partial<Grant>): Promise<Grant> {
  await parts.grants.update(grant.id, () => fields).catch(() => undefined);
  return current(parts, grant.id);
}

/** Schedules the next try, unless the time for tries is over. */
async function later(
  parts: BrokerParts,
  grant: Grant,
  state: Revoked,
  { failure, answer, liveUntil }: Known & { readonly failure: unknown },
): Promise<Tried> {
  const { clock, audit } = parts;
  const now = clock.wall();
  audit.note({ event: 'revoke', outcome: reasonOf(failure), signIn: grant.id, issuer: grant.issuer });
  if (now >= triedUntil(state)) return finish(parts, grant, { receipt: answer ?? 'abandoned', liveUntil });
  const tries = (state.tries ?? 0) + 1;
  // If a server says "in a year", it gets its last request when the time for tries is over.
  const last = Math.max(triedUntil(state), now + firstPause);
  const asked = Math.min(now + waitAskedBy(failure) * 1000, last);
  const next: Revoked = {
    kind: 'revoked',
    receipt: 'pending',
    endedAt: endOf(grant, now),
    tries,
    nextTry: Math.max(asked, now + backoffDelay(tries, firstPause, maxPause)),
    ...(asked > now ? { notBefore: asked } : {}),
    ...(answer === undefined ? {} : { answer }),
  };
  const { earlier } = grant;
  return { grant: await changed(parts, grant, { state: next, liveUntil, earlier }), receipt: 'pending' };
}

function endOf({ state }: Grant, now: number): number {
  return state.kind === 'revoked' ? state.endedAt : now;
}

async function record({ audit }: BrokerParts, grant: Grant, receipt: Receipt): Promise<void> {
  const { id, resource, issuer } = grant;
  await audit.record({ event: 'revoke', outcome: receipt, signIn: id, resource, issuer });
}
