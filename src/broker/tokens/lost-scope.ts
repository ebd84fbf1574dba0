/**
 * Servers where a narrower refresh costs the other apps something. RFC 6749 §6 lets a refresh request fewer scopes
 * for one access token only. Some servers keep the smaller scope in the refresh token. Others end the access token with
 * the other scopes.
 *
 * Invariants: scopes are lost only if a full refresh returns no more than an earlier narrower one requested.
 * Errors call them lost, never refused by the server. After an issuer did either once, no shared sign-in there is
 * narrowed by a refresh, and no app gets a wider token instead: a narrow app gets a sign-in for itself alone.
 * What a refresh showed is remembered permanently, in the records; what an app reports, for a time only
 * (`sawOtherEnd`).
 */
import { isWithin, openidScopes } from '../../oauth/base/scope.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import type { SignIn } from '../records/sign-in.ts';

/** The scopes that the sign-in has lost, as a full refresh shows; undefined if none was ever lost. */
export function lostAfter(
  { scope, lostScope }: SignIn,
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

/** True if a narrower refresh did harm at any sign-in of this issuer, even if signing in has repaired it since. */
export function narrowsPermanently(signIns: readonly SignIn[], issuer: string): boolean {
  return signIns.some((signIn) => signIn.issuer === issuer && signIn.lostScope !== undefined);
}
