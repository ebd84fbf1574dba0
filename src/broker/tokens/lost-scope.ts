/**
 * Servers that narrow a refresh token permanently. RFC 6749 §6 lets a refresh request fewer scopes for one access
 * token only. Some servers keep the smaller scope, so that one program's narrower token removes scopes from all
 * programs.
 *
 * Invariants: scopes count as lost only if a full refresh returns no more than an earlier narrower one requested.
 * Errors call them lost, never refused by the server. After an issuer did this once, no narrower token is requested
 * there, and no program gets a wider one instead. Only evidence that the vault confirms counts.
 */
import { isWithin, openidScopes } from '../../oauth/base/scope.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import type { Grant } from '../records/grant.ts';

/** The scopes that the grant has lost, as a full refresh shows; undefined if none was ever lost. */
export function lostAfter(
  { scope, lostScope }: Grant,
  answer: Pick<TokenResponse, 'scope' | 'scopeStated'>,
  narrowedTo: readonly string[] | undefined,
): string[] | undefined {
  // Servers omit the scopes of OpenID Connect from their answer, so a missing one proves nothing.
  const missing = [...scope, ...(lostScope ?? [])]
    .filter((name) => !openidScopes.has(name))
    .filter((name) => !answer.scope.includes(name));
  const isNarrowed = narrowedTo !== undefined && answer.scopeStated && isWithin(answer.scope, narrowedTo);
  if (isNarrowed && missing.length > 0) return [...new Set(missing)];
  return lostScope?.filter((name) => missing.includes(name));
}

/**
 * True if any grant of this issuer lost scopes, even if a sign-in has restored them since. `vouched`: grants that the
 * vault holds.
 */
export function narrowsForGood(vouched: readonly Grant[], issuer: string): boolean {
  return vouched.some((grant) => grant.issuer === issuer && grant.lostScope !== undefined);
}
