/**
 * Where a sign-in's access token comes from when none in memory is fresh enough: a refresh, or the vault for a sign-in
 * without a refresh token.
 *
 * Invariant: a token that the MCP server rejected never comes back.
 */
import { reasonOf, Unreachable } from '../../base/errors.ts';
import { fromWall } from '../../base/clock.ts';
import type { SignIn } from '../records/sign-in.ts';
import type { RequestDeadline } from '../../base/request-deadline.ts';
import { isRefusal } from '../refusals/refresh-refusals.ts';
import { NarrowsPermanently } from '../refusals/refusals.ts';
import type { Refresher, RefresherParts } from './refresher.ts';
import { fullScope, isAlive, isLongEnough, type AccessToken } from './token-cache.ts';

interface SourceParts extends Pick<RefresherParts, 'clock' | 'signIns' | 'cache'> {
  readonly refresher: Refresher;
}

export interface WantedToken {
  /** The token in memory, which isn't fresh enough. */
  readonly cached: AccessToken | undefined;
  /** Just these scopes; undefined: all of the sign-in's. Only a sign-in with a refresh token can narrow. */
  readonly narrowTo: readonly string[] | undefined;
  /** Milliseconds the token must still live. */
  readonly minimumValidity: number | undefined;
  readonly deadline: Pick<RequestDeadline, 'signal'>;
}

/**
 * A token. `changed`: the sign-in has changed, so the caller looks again. `mustSignIn`: only signing in again gives a token that
 * lives long enough, while the present one can still be used for others. `mustSignInForAppAlone`: only a sign-in for this app
 * alone gives a token with just these scopes. Throws what the refresher throws.
 */
export async function tokenFromSource(
  parts: SourceParts,
  signIn: SignIn,
  wanted: WantedToken,
): Promise<AccessToken | 'changed' | 'mustSignIn' | 'mustSignInForAppAlone'> {
  const { clock, refresher } = parts;
  const { cached, narrowTo, minimumValidity, deadline } = wanted;
  if (!signIn.hasRefreshToken) return unrefreshable(parts, signIn, cached, minimumValidity);
  try {
    return await refresher.refresh(signIn.id, narrowTo, deadline.signal);
  } catch (error) {
    // A server that can't be reached, or refuses, is no reason to withhold a token that still works.
    const isFromServer = error instanceof Unreachable || isRefusal(error);
    if (isFromServer && cached && isAlive(cached, clock.now(), minimumValidity)) return cached;
    if (reasonOf(error) === 'login_required') return 'changed';
    if (error instanceof NarrowsPermanently) return 'mustSignInForAppAlone';
    throw error;
  }
}

/** A sign-in without refresh token lives as long as its access token, which the vault keeps. */
async function unrefreshable(
  parts: SourceParts,
  signIn: SignIn,
  cached: AccessToken | undefined,
  minimumValidity: number | undefined,
): Promise<AccessToken | 'changed' | 'mustSignIn'> {
  const { cache, signIns, clock } = parts;
  const token = cached ?? (await storedToken(parts, signIn));
  if (token && isLongEnough(token, clock.now(), minimumValidity)) return token;
  if (token && isAlive(token, clock.now())) return 'mustSignIn';
  if (!signIns.isCurrent(signIn)) return 'changed';
  cache.dropSignIn(signIn.id);
  const isEnded = token !== undefined && Number.isFinite(token.expiresAt);
  const why = `its access token ${isEnded ? 'has expired' : 'is no longer accepted'}, and the sign-in provider gave none to refresh it with`;
  await signIns.change(signIn, { state: { kind: 'signInRequired', why } });
  return 'changed';
}

async function storedToken(
  { cache, refresher, signIns, clock }: SourceParts,
  signIn: SignIn,
): Promise<AccessToken | undefined> {
  const { accessToken: stored, dpopKey: kept } = await refresher.secrets.read(signIn);
  if (!stored || cache.isRejected(signIn.id, stored.value) || !signIns.isCurrent(signIn)) return undefined;
  const { value: accessToken, scope } = stored;
  const issuedAt = fromWall(clock, stored.issuedAt);
  const expiresAt = stored.expiresAt === undefined ? Infinity : fromWall(clock, stored.expiresAt);
  const dpopKey = kept && cache.dpopKey(signIn.id, kept);
  // Another request may have read it meanwhile: one token has one id.
  return (
    cache.get(signIn.id, fullScope) ??
    cache.put(signIn.id, fullScope, { accessToken, issuedAt, expiresAt, scope, dpopKey })
  );
}
