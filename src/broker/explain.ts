/**
 * The state of a sign-in and what happens next: in sentences for a terminal, and as facts for a window, which
 * has words and times of its own.
 *
 * Invariant: never a secret; what isn't known is said to be not known. The sentences say what the facts
 * say; instants in them are UTC by the wall clock.
 */
import { quoted, shellWord, moment } from '../base/errors.ts';
import { lostRefreshSentence } from './tokens/failed-refresh.ts';
import { toWall } from '../base/clock.ts';
import { firstEndpoint, isWiderThanAsked, type SignIn, type SignInState } from './records/sign-in.ts';
import type { RefreshAttempt } from './tokens/sign-in-secret.ts';
import type { BrokerParts } from './parts.ts';
import { loginAgain, scopesLost } from './refusals/refusals.ts';
import { dueAt, fullScope, type AccessToken } from './tokens/token-cache.ts';
import { quietMargin, tickEvery } from './tokens/upkeep.ts';

export interface Explanation {
  readonly now: string;
  readonly next: string;
  /** Absent unless it is active, or the next request signs in without the user. */
  readonly refresh?: NextRefresh;
  /** About a refresh whose outcome isn't known. */
  readonly lostRefresh?: string;
  /** Where its newest token isn't bound to this server. */
  readonly audience?: string;
  /** Where its tokens are bound to a DPoP key. */
  readonly dpopKey?: string;
  /** How far the issuer's clock is from ours, if that is more than a minute. */
  readonly clock?: string;
  /** The same in seconds; negative: behind. */
  readonly clockAhead?: number;
}

/** What brings the next access token, and not before when (milliseconds, wall clock). */
export type NextRefresh =
  | { readonly by: 'underWay' | 'signIn' }
  /** All access is paused. */
  | { readonly by: 'resume'; readonly after?: number }
  | { readonly by: 'request'; readonly after?: number }
  | { readonly by: 'timer'; readonly after: number };

/** Milliseconds from which a skew is worth a word: below, nothing goes wrong by it. */
export const notableSkew = 60_000;

export function explainSignIn(parts: BrokerParts, signIn: SignIn): Explanation {
  const attempt = lostRefreshOf(parts, signIn);
  const skew = parts.servers.skewOf(signIn.issuer);
  return {
    ...sentences(parts, signIn),
    lostRefresh: attempt && lostRefreshSentence(attempt),
    audience: audienceSentence(signIn),
    dpopKey: signIn.isKeyBound && signIn.state.kind !== 'revoked' ? boundSentence : undefined,
    ...(Math.abs(skew) > notableSkew && {
      clock: skewSentence(skew),
      clockAhead: Math.round(skew / 1000),
    }),
  };
}

/** An attempt whose outcome isn't known; undefined while the refresh is under way, and for a sign-in that is over. */
export function lostRefreshOf(
  { refresher }: Pick<BrokerParts, 'refresher'>,
  signIn: SignIn,
): RefreshAttempt | undefined {
  if (signIn.state.kind !== 'active' || refresher.turns.isTaken(signIn.id)) return undefined;
  return refresher.secrets.factsOf(signIn).attempt;
}

type Sentences = Pick<Explanation, 'now' | 'next' | 'refresh'>;

function sentences(parts: BrokerParts, signIn: SignIn): Sentences {
  const { state } = signIn;
  const login = loginAgain(firstEndpoint(signIn), signIn);
  switch (state.kind) {
    case 'active':
      return parts.refresher.turns.isTaken(signIn.id)
        ? refreshing
        : (lost(parts, signIn) ?? active(parts, signIn));
    case 'signInRequired':
      if (isUnattended(parts, signIn)) return withoutToken(parts, signIn);
      return {
        now: `It needs a new sign-in: ${state.why}.`,
        next: `Sign in again: ${login}. If you no longer use it: keyturn logout ${shellWord(signIn.id)}`,
      };
    case 'revoked':
      return { now: `${whyOver(signIn)} ${receipts[state.receipt]}`, next: `To start it again: ${login}` };
  }
}

/** The user entered a client for tokens without a user there: a request for a token signs in. */
const isUnattended = ({ registrations }: BrokerParts, { issuer }: SignIn): boolean =>
  registrations.shown().some((one) => one.registration.issuer === issuer && one.grantType !== undefined);

function withoutToken({ refresher }: BrokerParts, { id }: SignIn): Sentences {
  const refusal = refresher.failures.refusals.last(id);
  if (refusal?.hint !== undefined) return { now: `It has no token: ${refusal.message}`, next: refusal.hint };
  const refresh = { by: 'request' } as const;
  return { now: 'It has no token.', next: unattendedSentence({}), refresh };
}

function unattendedSentence({ after }: { readonly after?: number }): string {
  const when = after === undefined ? '' : ` after ${moment(after)}`;
  return `The next request${when} asks for a new token, without you.`;
}

const whyOver = (signIn: SignIn): string =>
  isWiderThanAsked(signIn)
    ? 'The authorization server gave more than was asked for, for one app, so it was ended.'
    : 'You ended it.';

const refreshing: Sentences = {
  now: 'It is being refreshed at this moment.',
  next: 'The next request gets the new token.',
  refresh: { by: 'underWay' },
};

const receipts: Readonly<Record<Extract<SignInState, { kind: 'revoked' }>['receipt'], string>> = {
  confirmed: 'The authorization server confirmed the revocation.',
  notOffered:
    'The authorization server offers no revocation, or there was no refresh token to revoke. Keyturn has forgotten its tokens. If there was a refresh token, it may stay valid there: to end it, remove Keyturn’s access in your account there.',
  pending: 'The authorization server could not be reached yet; Keyturn tries again automatically.',
  abandoned:
    'The authorization server could not be reached, and Keyturn has stopped trying. Its refresh token may stay valid there: to end it, remove Keyturn’s access in your account there.',
};

/** Undefined unless the vault was asked and has no such item. */
function lost({ refresher }: BrokerParts, signIn: SignIn): Sentences | undefined {
  if (!refresher.secrets.factsOf(signIn).isMissing) return undefined;
  return {
    now: 'The vault has no token for it. No app can get one.',
    next: `Sign in again: ${loginAgain(firstEndpoint(signIn), signIn)}. To end it: keyturn logout ${shellWord(signIn.id)}`,
    refresh: { by: 'signIn' },
  };
}

function active(parts: BrokerParts, signIn: SignIn): Sentences {
  const { cache, clock, refresher } = parts;
  const token = cache.get(signIn.id, fullScope);
  const isAlive = token !== undefined && token.expiresAt > clock.now();
  const end =
    isAlive && Number.isFinite(token.expiresAt) ? moment(toWall(clock, token.expiresAt)) : undefined;
  const inMemory = isAlive
    ? `a token is in memory, good until ${end ?? 'the server rejects it'}`
    : 'no token is in memory';
  const trouble = refresher.failures.backoff.trouble(signIn.id);
  if (trouble && !parts.pause.current) {
    const after = toWall(clock, trouble.nextTryAt);
    const since = `Its authorization server has given no token since ${moment(toWall(clock, trouble.since))}; ${inMemory}.`;
    const refusal = refresher.failures.refusals.last(signIn.id);
    return {
      now: refusal ? `${since} The last refresh was refused: ${refusal.message}` : since,
      next: `It is asked again with the first request after ${moment(after)}.`,
      refresh: { by: 'request', after },
    };
  }
  const refresh = nextRefresh(parts, signIn, isAlive ? token : undefined);
  const { issuer, lostScope = [] } = signIn;
  if (lostScope.length > 0 && refresh.by !== 'resume') {
    const next = 'The next request that needs them opens a sign-in; other requests are served.';
    return { now: `${scopesLost(issuer, lostScope)}; ${inMemory}.`, next, refresh };
  }
  const { purpose } = signIn;
  const whose = purpose?.kind === 'narrow' ? ` by ${quoted(parts.apps.nameOf(purpose.appId))} alone` : '';
  const isOwn = refresh.by === 'request' && !signIn.hasRefreshToken;
  const next = isOwn ? unattendedSentence(refresh) : refreshSentence(refresh);
  return { now: `It is usable${whose}; ${inMemory}.`, next, refresh };
}

function nextRefresh(parts: BrokerParts, signIn: SignIn, token: AccessToken | undefined): NextRefresh {
  const { clock, pause } = parts;
  const { current } = pause;
  if (current) return { by: 'resume', after: current.until };
  if (!signIn.hasRefreshToken && !isUnattended(parts, signIn)) return { by: 'signIn' };
  if (token && !signIn.hasRefreshToken)
    return Number.isFinite(token.expiresAt)
      ? { by: 'request', after: toWall(clock, token.expiresAt) }
      : { by: 'request' };
  if (!token) return { by: 'request' };
  const left = (margin: number): number => toWall(clock, dueAt(token) - margin);
  if (token.handedTo.size === 0 || token.margin < tickEvery) {
    return { by: 'request', after: left(token.margin) };
  }
  return { by: 'timer', after: left(quietMargin(token)) };
}

function refreshSentence(refresh: NextRefresh): string {
  switch (refresh.by) {
    case 'underWay':
      return refreshing.next;
    case 'resume':
      return refresh.after === undefined
        ? 'You paused all access: no app gets a token until you resume it with: keyturn resume'
        : `You paused all access: no app gets a token until ${moment(refresh.after)}, unless you resume it sooner with: keyturn resume`;
    case 'signIn':
      return 'The authorization server gave no refresh token: when the access token expires, a new sign-in is needed.';
    case 'request':
      return refresh.after === undefined
        ? 'It is refreshed when an app asks for a token.'
        : `It is refreshed when an app asks after ${moment(refresh.after)}.`;
    case 'timer':
      return `Keyturn refreshes it automatically about ${moment(refresh.after)}, because an app uses it.`;
  }
}

/** Says nothing of a sign-in that ended: its tokens are no longer handed out. */
function audienceSentence({ state, audience, issuer }: SignIn): string | undefined {
  if (state.kind !== 'active') return undefined;
  if (audience === 'unbound')
    return `The token of ${quoted(issuer)} names no server: it may work at other servers too.`;
  if (audience !== 'other') return undefined;
  return `The token of ${quoted(issuer)} names another server, and you made an exception to the rule that refuses it: this server could use it there.`;
}

const boundSentence =
  'Its tokens are bound to a DPoP key, which only the vault holds: each request needs a proof, so a copied token is worth nothing elsewhere.';

function skewSentence(skew: number): string {
  const seconds = Math.round(Math.abs(skew) / 1000);
  return (
    `The authorization server's clock is ${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} this machine's. ` +
    'Keyturn allows for the difference; one of the two clocks is wrong.'
  );
}
