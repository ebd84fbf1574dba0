/**
 * Access tokens in memory, by grant and scope set.
 *
 * Invariant: an access token stands here only while its grant may use it; ending a grant or being
 * refused by the protected server drops it. At most eight scope sets a grant (DESIGN invariant 10).
 */
import { randomBytes } from 'node:crypto';

export interface AccessToken {
  /** Names the token on the wire without showing it. */
  readonly tokenId: string;
  readonly accessToken: string;
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** As granted. */
  readonly scope: readonly string[];
  /** Ids of the local clients that received it. */
  readonly handedTo: Set<string>;
}

/** More sets than that means a program that plays with scopes; the oldest makes room. */
const mostSets = 8;
/** Refresh when less than this is left … in milliseconds. */
const longestMargin = 300_000;
/** … or less than this part of the lifetime, whichever is less: a 30-second token stays usable. */
const marginPart = 1 / 5;

/** The key of the token with all the grant's scopes. */
export const fullScope = '*';

/** The key of a scope set: order and repetition don't matter. */
export function scopeKey(scope: readonly string[] | undefined): string {
  return scope === undefined ? fullScope : [...new Set(scope)].toSorted().join(' ');
}

/** True while the token needs no refresh: enough is left for its margin and for what the caller asks (ms). */
export function isFresh(token: AccessToken, now: number, minimumValidity = 0): boolean {
  const margin = Math.min(longestMargin, (token.expiresAt - token.issuedAt) * marginPart);
  return token.expiresAt - now > Math.max(margin, minimumValidity);
}

/** True while the protected server should still take it, for a caller that can't have a fresher one. */
export function isAlive(token: AccessToken, now: number, minimumValidity = 0): boolean {
  return token.expiresAt - now > minimumValidity;
}

export class TokenCache {
  readonly #grants = new Map<string, Map<string, AccessToken>>();

  get(grantId: string, key: string): AccessToken | undefined {
    return this.#grants.get(grantId)?.get(key);
  }

  put(grantId: string, key: string, fields: Omit<AccessToken, 'tokenId' | 'handedTo'>): AccessToken {
    const sets = this.#grants.get(grantId) ?? new Map<string, AccessToken>();
    this.#grants.set(grantId, sets);
    const token = { ...fields, tokenId: randomBytes(8).toString('hex'), handedTo: new Set<string>() };
    sets.delete(key);
    sets.set(key, token);
    const oldest = sets.keys().next();
    if (sets.size > mostSets && !oldest.done) sets.delete(oldest.value);
    return token;
  }

  of(grantId: string): AccessToken[] {
    return [...(this.#grants.get(grantId)?.values() ?? [])];
  }

  /** Drops one token, wherever it stands. */
  drop(grantId: string, tokenId: string): void {
    const sets = this.#grants.get(grantId);
    for (const [key, token] of sets ?? []) if (token.tokenId === tokenId) sets?.delete(key);
  }

  dropGrant(grantId: string): void {
    this.#grants.delete(grantId);
  }

  clear(): void {
    this.#grants.clear();
  }
}
