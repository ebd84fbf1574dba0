/**
 * Scopes as sets of literal strings: parses, formats, joins and compares them, and chooses the ones to request.
 *
 * Invariant: scopes are compared as the exact strings that a server wrote. Nothing follows from the form of a scope,
 * except for commas instead of spaces (`readGranted`).
 */
import { KeyturnError, quoted } from '../../base/errors.ts';

/** RFC 6749 §3.3: scope-token = 1*( %x21 / %x23-5B / %x5D-7E ). */
const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Characters of the scopes that a list shows of a sign-in: as many as the wire takes (ipc/wire/limits.ts). */
export const maxScopeLength = 4096;

/** The distinct tokens of `text`, in order. Throws invalid_scope. */
export function parseScope(text: string): string[] {
  const tokens = split(text);
  const wrong = tokens.find((token) => !scopeToken.test(token));
  if (wrong !== undefined) {
    throw new KeyturnError('invalid_scope', `${quoted(wrong)} is not a scope.`, {
      rule: 'RFC 6749 §3.3',
      hint: 'A scope is printable ASCII without spaces, quotation marks and backslashes; separate scopes with spaces.',
    });
  }
  return tokens;
}

/** Like `parseScope`, for text from a server: leaves out tokens of a wrong form, and never throws. */
export function readScope(text: string): string[] {
  return split(text).filter((token) => scopeToken.test(token));
}

/**
 * Like `readScope`, for the scopes that a server granted. Some servers, such as GitHub, write commas instead of
 * spaces. A comma may also be part of a scope's name (RFC 6749 §3.3): it counts as that if a scope in `asked` has
 * one.
 */
export function readGranted(text: string, asked: readonly string[]): string[] {
  const hasCommas = asked.some((token) => token.includes(','));
  return readScope(hasCommas ? text : text.replaceAll(',', ' '));
}

function split(text: string): string[] {
  return [...new Set(text.split(' ').filter((token) => token !== ''))];
}

/** The value of the `scope` parameter: the tokens with one space between them. */
export function formatScope(scope: readonly string[]): string {
  return scope.join(' ');
}

/** The `scope` parameter; left out for an empty set. */
export function scopeParameter(scope: readonly string[] = []): { readonly scope?: string } {
  return scope.length === 0 ? {} : { scope: formatScope(scope) };
}

/** Every scope of the given sets once, in order of first appearance. */
export function union(...sets: ReadonlyArray<readonly string[]>): string[] {
  return [...new Set(sets.flat())];
}

/** True if every scope of `part` is literally in `whole`. */
export function isWithin(part: readonly string[], whole: readonly string[]): boolean {
  if (part.length === 0) return true;
  const allowed = new Set(whole);
  return part.every((token) => allowed.has(token));
}

export function isSameScope(one: readonly string[], other: readonly string[]): boolean {
  return isWithin(one, other) && isWithin(other, one);
}

/** OpenID Connect Core §11: it asks for a refresh token, which gives an app no right. No permission has to name it. */
export const offlineAccess = 'offline_access';

/** The scopes that give a right to the holder of the token. */
export function withoutOfflineAccess(scope: readonly string[]): string[] {
  return scope.filter((token) => token !== offlineAccess);
}

/** OpenID Connect Core §3.1.2.1, §5.4, §11: many servers grant these without naming them in the granted scope. */
export const openidScopes: ReadonlySet<string> = new Set([
  'openid',
  'profile',
  'email',
  'address',
  'phone',
  offlineAccess,
]);

/**
 * MCP, Step-Up Authorization Flow: the scopes requested before and the scopes needed now. It leaves out `notGranted`:
 * scopes that were requested before and that the server didn't grant, such as a mistyped one.
 */
export function stepUpScope(
  granted: { readonly scope: readonly string[]; readonly requestedScope: readonly string[] },
  needed: readonly string[],
): { scope: string[]; notGranted: string[] } {
  const requested = granted.requestedScope;
  const due = union(granted.scope, needed);
  const notGranted = requested.filter((token) => !due.includes(token) && !openidScopes.has(token));
  const kept = requested.filter((token) => !notGranted.includes(token));
  return { scope: union(kept, due), notGranted };
}

export function includesOfflineAccess(scope: readonly string[] | undefined): boolean {
  return scope?.includes(offlineAccess) ?? false;
}

export interface ScopeSources {
  /** `scope` of the MCP server's challenge. */
  readonly challenge?: readonly string[];
  readonly requested?: readonly string[];
  /** True if the user named them, or if they renew a sign-in: then they are all, whatever the challenge says. */
  readonly isExact?: boolean;
  /** `scopes_supported` of the protected resource metadata. */
  readonly scopesSupported?: readonly string[];
  /** `scopes_supported` of the authorization server's metadata. */
  readonly authorizationServerScopes?: readonly string[];
}

/**
 * The scopes of a sign-in; never empty. Undefined: leave the parameter out. For a step-up, pass as `requested` the
 * union of the scopes that were requested before and those needed now, since the challenge may name only the new ones.
 */
export function selectScope(sources: ScopeSources): string[] | undefined {
  const { challenge = [], requested = [], isExact = false, scopesSupported = [] } = sources;
  // MCP, Scope Selection Strategy: the challenge with the caller's scopes, else the caller's, else scopes_supported,
  // else none.
  const named = isExact && requested.length > 0 ? requested : union(challenge, requested);
  // All that the authorization server lists would be more than this one server needs.
  const base = union(named.length > 0 ? named : scopesSupported);
  return base.length === 0 ? undefined : withOfflineAccess(base, sources.authorizationServerScopes);
}

/** Only if the server lists it. An empty scope stays empty: offline_access alone would replace the default scopes. */
export function withOfflineAccess(
  scope: readonly string[],
  offered: readonly string[] | undefined,
): string[] {
  return scope.length > 0 && offered?.includes(offlineAccess) ? union(scope, [offlineAccess]) : [...scope];
}
