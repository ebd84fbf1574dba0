/**
 * Where a grant's access token comes from when none in memory is fresh enough: a refresh, or the vault for a grant
 * without a refresh token.
 *
 * Invariant: a token that the MCP server refused never comes back.
 */
import { reasonOf, Unreachable } from '../../base/errors.ts';
import { fromWall } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { Grant } from '../records/grant.ts';
import type { Grants } from '../records/grants.ts';
import type { RequestDeadline } from '../../base/request-deadline.ts';
import { isRefusal } from '../refusals/refresh-refusals.ts';
import { NarrowsPermanently } from '../refusals/refusals.ts';
import type { Refresher } from './refresher.ts';
import { fullScope, isAlive, isLongEnough } from './token-cache.ts';
import type { AccessToken, TokenCache } from './token-cache.ts';

export interface SourceParts {
  readonly clock: Clock;
  readonly grants: Grants;
  readonly refresher: Refresher;
  readonly cache: TokenCache;
}

export interface TokenNeed {
  /** The token in memory, which isn't fresh enough. */
  readonly cached: AccessToken | undefined;
  /** Just these scopes; undefined: all of the grant's. Only a grant with a refresh token can narrow. */
  readonly narrow: readonly string[] | undefined;
  /** Milliseconds the token must still live. */
  readonly minimumValidity: number | undefined;
  readonly deadline: Pick<RequestDeadline, 'signal'>;
}

/**
 * A token. `changed`: the grant has changed, so the caller looks again. `signIn`: only a new sign-in gives a token that
 * lives long enough, while the present one can still be used for others. `ownSignIn`: only a sign-in for this program
 * alone gives a token with just these scopes. Throws what the refresher throws.
 */
export async function renewedToken(
  parts: SourceParts,
  grant: Grant,
  need: TokenNeed,
): Promise<AccessToken | 'changed' | 'signIn' | 'separateSignIn'> {
  const { clock, refresher } = parts;
  const { cached, narrow, minimumValidity, deadline } = need;
  if (!grant.hasRefreshToken) return unrefreshable(parts, grant, cached, minimumValidity);
  try {
    return await refresher.refresh(grant.id, narrow, deadline.signal);
  } catch (error) {
    // A server that can't be reached, or refuses, is no reason to withhold a token that still works.
    const isFromServer = error instanceof Unreachable || isRefusal(error);
    if (isFromServer && cached && isAlive(cached, clock.now(), minimumValidity)) return cached;
    if (reasonOf(error) === 'login_required') return 'changed';
    if (error instanceof NarrowsPermanently) return 'separateSignIn';
    throw error;
  }
}

/** A grant without refresh token lives as long as its access token, which the vault keeps. */
async function unrefreshable(
  parts: SourceParts,
  grant: Grant,
  cached: AccessToken | undefined,
  minimumValidity: number | undefined,
): Promise<AccessToken | 'changed' | 'signIn'> {
  const { cache, grants, clock } = parts;
  const token = cached ?? (await storedToken(parts, grant));
  if (token && isLongEnough(token, clock.now(), minimumValidity)) return token;
  if (token && isAlive(token, clock.now())) return 'signIn';
  if (!grants.isCurrent(grant)) return 'changed';
  cache.dropGrant(grant.id);
  const isEnded = token !== undefined && Number.isFinite(token.expiresAt);
  const why = `its access token ${isEnded ? 'has expired' : 'is no longer accepted'}, and the sign-in provider gave none to refresh it with`;
  await grants.change(grant, { state: { kind: 'signInRequired', why } });
  return 'changed';
}

async function storedToken(
  { cache, refresher, grants, clock }: SourceParts,
  grant: Grant,
): Promise<AccessToken | undefined> {
  const { accessToken: stored, proofKey: kept } = await refresher.secrets.read(grant);
  if (!stored || cache.isRefused(grant.id, stored.value) || !grants.isCurrent(grant)) return undefined;
  const { value: accessToken, scope } = stored;
  const issuedAt = fromWall(clock, stored.issuedAt);
  const expiresAt = stored.expiresAt === undefined ? Infinity : fromWall(clock, stored.expiresAt);
  // Another request may have read it meanwhile: one token has one id.
  return (
    cache.get(grant.id, fullScope) ??
    cache.put(grant.id, fullScope, {
      accessToken,
      issuedAt,
      expiresAt,
      scope,
      ...(kept === undefined ? {} : { proofKey: cache.proofKey(grant.id, kept) }),
    })
  );
}
