/**
 * Ends grants: here at once, and at the authorization server by RFC 7009.
 *
 * Invariants: a grant ends on this machine before the server is asked, so that a dead network can't keep it alive. It
 * ends in memory and in the index at once, and is marked in the vault before the answer, so that an older line of the
 * index can't revive it. If the vault doesn't answer, the grant ends all the same, and the next try writes the mark.
 * The vault names the server that is asked. The tokens leave the vault only if that server has answered for each of
 * them or offers no revocation, or after a month of failed tries; the receipt says which.
 */
import { KeyturnError, quoted, reasonOf } from '../../base/errors.ts';
import { isSelfContained } from '../../oauth/grants/token-response.ts';
import type { Audit } from '../../audit/audit.ts';
import { backoffDelay } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { bindingOf } from '../grants/grant-binding.ts';
import type { GrantSecret } from '../grants/grant-secret.ts';
import type { Grant, Grants, Revoked } from '../records/grant.ts';
import { tokensToRevoke, secretOfRemaining } from './tokens-to-revoke.ts';
import type { Refresher } from '../tokens/refresher.ts';
import { revokeAtServer, waitAskedBy } from './server-revocation.ts';
import type { ServerRevocationParts, ServerRevocation, AnsweredToken } from './server-revocation.ts';
import type { TokenCache } from '../tokens/token-cache.ts';

export interface RevokerParts extends ServerRevocationParts {
  readonly clock: Clock;
  readonly grants: Grants;
  readonly refresher: Refresher;
  readonly cache: TokenCache;
  readonly audit: Audit;
}

export type Receipt = Revoked['receipt'];

/**
 * Milliseconds: 1 min, doubling to 6 h. A laptop that comes back online retries soon; a server that is gone costs
 * four requests a day.
 */
const firstPause = 60_000;
const maxPause = 6 * 60 * 60 * 1000;
/** Milliseconds: 30 days. By then most servers have ended an unused refresh token themselves. */
const maxRetryAge = 30 * 24 * 60 * 60 * 1000;

/** Throws `not_found`. If the server or the vault fails now, the revocation is `pending`. */
export async function revokeGrant(
  parts: RevokerParts,
  named: Grant,
): Promise<{ grant: Grant; receipt: Receipt }> {
  // Before our turn: a slow refresh must not keep the grant alive for the requests that wait for it.
  const ending = endHere(parts, named.id);
  // The turn below awaits this promise; until then its rejection must not count as unhandled.
  ending.catch(() => undefined);
  return parts.refresher.turns.take(named.id, async () => {
    await ending.catch((error: unknown) => endInVault(parts, named.id, error));
    await vouched(parts, named.id);
    // End it again: a sign-in that was in the queue before us may have revived it, and this call came later.
    const { grant, state } = await endHere(parts, named.id);
    if (state.receipt !== 'pending') return { grant, receipt: state.receipt };
    const { grant: tried, receipt } = await tryServer(parts, grant, state);
    await record(parts, tried, receipt);
    return { grant: tried, receipt };
  });
}

/** Retries, unless the grant has changed since: a person signed in again, or asked for a try just now. */
export async function retryRevocation(parts: RevokerParts, pending: PendingGrant): Promise<void> {
  await parts.refresher.turns.take(pending.id, async () => {
    if (!parts.grants.isCurrent(pending)) return;
    await vouched(parts, pending.id);
    const named = parts.grants.byId(pending.id);
    if (!named || !isPending(named)) return;
    const { grant, receipt } = await tryServer(parts, named, named.state);
    if (receipt !== 'pending') await record(parts, grant, receipt);
  });
}

/** Stops telling the server, because the tokens are about to be forgotten here. */
export async function abandonRevocation(
  parts: RevokerParts,
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

/** When the tries of a pending revocation stop, in milliseconds since the epoch. */
export function triedUntil({ endedAt }: Revoked): number {
  return endedAt + maxRetryAge;
}

/** Ends the grant on this machine at once. */
async function endHere(parts: RevokerParts, grantId: string): Promise<{ grant: Grant; state: Revoked }> {
  const grant = current(parts, grantId);
  parts.cache.retire(grantId);
  if (grant.state.kind === 'revoked') return { grant, state: grant.state };
  const state: Revoked = { kind: 'revoked', receipt: 'pending', endedAt: parts.clock.wall() };
  return { grant: await parts.grants.change(grant, { state }), state };
}

/**
 * A grant ends even if the index can't be written. The vault records the end; the index is corrected later, and the
 * server gets no request then. Throws `error`, which says what is wrong with the index.
 */
async function endInVault(
  { refresher, clock }: RevokerParts,
  grantId: string,
  error: unknown,
): Promise<never> {
  // The caller gets the index's error, even if the vault fails too.
  if (reasonOf(error) === 'file_unreadable')
    await refresher.secrets.end(grantId, clock.wall()).catch(() => undefined);
  throw error;
}

/** Updates the index from the vault, if the vault answers. A failure here shows again when the tokens are read. */
async function vouched({ refresher }: RevokerParts, grantId: string): Promise<void> {
  await refresher.secrets.compareWithVault(grantId).catch(() => undefined);
}

function current({ grants }: RevokerParts, grantId: string): Grant {
  const grant = grants.byId(grantId);
  if (grant) return grant;
  throw new KeyturnError('not_found', `There is no grant ${quoted(grantId)} any more.`, {
    hint: '`keyturn list` shows the grants there are.',
  });
}

interface Tried {
  readonly grant: Grant;
  readonly receipt: Receipt;
}

/** Runs in the grant's turn. The tokens stay in the vault until all of them are settled. */
async function tryServer(parts: RevokerParts, grant: Grant, state: Revoked): Promise<Tried> {
  const { refresher, cache, clock } = parts;
  const read = await markedSecret(parts, grant, endOf(grant, clock.wall()));
  const retired = cache.retired(grant.id);
  const outcome = await revokeAtServer(
    parts,
    grant,
    tokensToRevoke(grant, read.secret ?? nothing, retired, clock),
  );
  const known = { answer: answerIn(outcome, state.answer), liveUntil: stillLive(grant, outcome) };
  try {
    if (!read.secret && read.failure) throw read.failure;
    if (outcome.left.length > 0) {
      if (outcome.answered.length > 0 || retired.length > 0) {
        // The token in memory came from a record that the vault had confirmed.
        const binding = read.secret?.binding ?? bindingOf(grant);
        await refresher.secrets.write(grant.id, secretOfRemaining(outcome.left, binding));
      }
      cache.forgetRetired(grant.id);
      throw outcome.failure;
    }
    await refresher.secrets.remove(grant.id);
  } catch (failure) {
    return later(parts, grant, state, { ...known, failure });
  }
  return finish(parts, grant, {
    ...known,
    receipt: known.answer ?? (read.isLost ? 'abandoned' : 'notOffered'),
  });
}

const nothing = { superseded: [] };

interface Read {
  /** Absent if there is none, or it can't be read now. */
  readonly secret?: GrantSecret;
  readonly failure?: unknown;
  /** There was one, but the vault no longer has it: its server can't be asked to revoke it. */
  readonly isLost?: boolean;
}

/** The grant's tokens, after the vault recorded the end. */
async function markedSecret(parts: RevokerParts, grant: Grant, revokedAt: number): Promise<Read> {
  const { secrets } = parts.refresher;
  const read = await secretOf(parts, grant);
  if (!read.secret || read.secret.binding.revokedAt !== undefined) return read;
  const binding = { ...read.secret.binding, generation: grant.generation, revokedAt };
  const secret = { ...read.secret, binding };
  // If the vault can't be written, the server still gets the revocation. The item is then removed, or the next try
  // marks it.
  await secrets.write(grant.id, secret).catch(() => undefined);
  return { secret };
}

/**
 * A grant whose record has no refresh token may have no item, and the vault may have lost one: in both cases there is
 * no token to revoke, and no later try would find one.
 */
async function secretOf({ refresher }: RevokerParts, grant: Grant): Promise<Read> {
  try {
    return { secret: await refresher.secrets.read(grant.id) };
  } catch (failure) {
    if (reasonOf(failure) !== 'vault_unreadable') return { failure };
    if (refresher.secrets.comparison.isLost(grant.id) && grant.hasRefreshToken) return { isLost: true };
    return grant.hasRefreshToken ? { failure } : {};
  }
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
 * signature. So a confirmed revocation counts only for an opaque token.
 */
function stillLive(grant: Grant, { answered, left }: ServerRevocation): number {
  const expiry = ({ expiresAt = 0 }: { readonly expiresAt?: number | undefined }): number => expiresAt;
  const isOver = (one: AnsweredToken): boolean => isConfirmed(one) && !isSelfContained(one.token.value);
  const ended = answered.filter(isOver).map(({ token }) => expiry(token));
  const alive = [...answered.filter((one) => !isOver(one)).map(({ token }) => token), ...left].map(expiry);
  const newest = grant.liveUntil ?? 0;
  return Math.max(0, ...alive, Math.max(0, ...ended) + sameInstant >= newest ? 0 : newest);
}

/** The result of a try. */
interface Known {
  readonly answer: Revoked['answer'];
  /** Milliseconds since the epoch. */
  readonly liveUntil: number;
}

/** Makes the receipt final and removes the grant's tokens here. */
async function finish(
  { grants, cache, clock }: RevokerParts,
  grant: Grant,
  { receipt, liveUntil }: { readonly receipt: Receipt; readonly liveUntil: number },
): Promise<Tried> {
  const now = clock.wall();
  const endedAt = endOf(grant, now);
  cache.forgetRetired(grant.id);
  const ended = await grants.change(grant, {
    state: { kind: 'revoked', receipt, endedAt },
    hasRefreshToken: false,
    liveUntil,
    ...(receipt === 'confirmed' ? { confirmedEnd: { endedAt, confirmedAt: now } } : {}),
  });
  return { grant: ended, receipt };
}

/** Schedules the next try, unless the time for tries is over. */
async function later(
  parts: RevokerParts,
  grant: Grant,
  state: Revoked,
  { failure, answer, liveUntil }: Known & { readonly failure: unknown },
): Promise<Tried> {
  const { clock, audit, grants, refresher } = parts;
  const now = clock.wall();
  audit.note({ event: 'revoke', outcome: reasonOf(failure), grant: grant.id, issuer: grant.issuer });
  if (now >= triedUntil(state) && (await isForgotten(refresher, grant))) {
    return finish(parts, grant, { receipt: answer ?? 'abandoned', liveUntil });
  }
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
  return { grant: await grants.change(grant, { state: next, liveUntil }), receipt: 'pending' };
}

function endOf({ state }: Grant, now: number): number {
  return state.kind === 'revoked' ? state.endedAt : now;
}

/** False if the vault can't remove the item: the next try removes it. */
async function isForgotten(refresher: Refresher, grant: Grant): Promise<boolean> {
  return refresher.secrets.remove(grant.id).then(
    () => true,
    () => false,
  );
}

async function record({ audit }: RevokerParts, grant: Grant, receipt: Receipt): Promise<void> {
  const { id, resource, issuer } = grant;
  await audit.record({ event: 'revoke', outcome: receipt, grant: id, resource, issuer });
}
