/**
 * Servers that narrow a refresh token for good. RFC 6749 §6 lets a refresh ask for less, for that access token alone; some
 * servers keep the lesser scope, so that one program's narrower token takes scopes from all the others.
 *
 * Invariants: it is believed only of a full refresh that came back with no more than what a narrower one had asked for. What
 * was lost is said as lost, never as refused by the server. Once an issuer was seen to do it, no narrower token is
 * asked for there: nobody is handed a wider one instead. Only what the vault vouches for counts as seen.
 */
import { isWithin, openidScopes } from '../../oauth/base/scope.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import type { Grant } from '../records/grant.ts';

/** What a full refresh says of the scopes that the grant has lost; undefined where nothing was ever lost. */
export function lostAfter(
  { scope, lostScope }: Grant,
  answer: Pick<TokenResponse, 'scope' | 'scopeStated'>,
  narrowedTo: readonly string[] | undefined,
): string[] | undefined {
  // Servers leave the scopes of OpenID Connect out of what they state: that says nothing.
  const missing = [...scope, ...(lostScope ?? [])]
    .filter((name) => !openidScopes.has(name))
    .filter((name) => !answer.scope.includes(name));
  const isNarrowed = narrowedTo !== undefined && answer.scopeStated && isWithin(answer.scope, narrowedTo);
  if (isNarrowed && missing.length > 0) return [...new Set(missing)];
  return lostScope?.filter((name) => missing.includes(name));
}

/** Seen at any grant of this issuer, also at one that a sign-in has restored since. `vouched`: grants that the vault holds. */
export function narrowsForGood(vouched: readonly Grant[], issuer: string): boolean {
  return vouched.some((grant) => grant.issuer === issuer && grant.lostScope !== undefined);
}
