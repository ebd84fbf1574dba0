/**
 * Tokens that passed a short while ago, by their digest.
 *
 * Invariant: an entry ends before its token does, and never later than `seconds` after the check; there are never
 * more than `maxEntries`. Only a token that passed is here, by its SHA-256.
 */
import { BoundedMap } from '../base/bounded-map.ts';
import type { TokenCheck, VerifiedToken } from './token.ts';

/** Each entry holds the claims of a token: some megabytes at most. */
const maxEntries = 10_000;

/** `check`, of which each good answer serves for so long. `now`: milliseconds by the wall clock, as `exp` is written. */
export function remembering(
  seconds: number,
  now: () => number,
  check: TokenCheck['check'],
): TokenCheck['check'] {
  const passed = new BoundedMap<VerifiedToken>(maxEntries, now);
  return async (token, digest) => {
    const known = passed.get(digest);
    if (known !== undefined) return known;
    const verified = await check(token, digest);
    const until = Math.min(now() + seconds * 1000, verified.expiresAt * 1000);
    if (until > now()) passed.set(digest, verified, until);
    return verified;
  };
}
