/**
 * Tokens that passed a short while ago, by their digest.
 *
 * Invariant: an entry ends before its token does, and never later than `seconds` after the check; there are never
 * more than `maxEntries`. Only a token that passed is here, by its SHA-256.
 */
import { BoundedMap } from '../base/bounded-map.ts';
import type { VerifiedToken } from './token.ts';

/** Each entry holds the claims of a token: some megabytes at most. */
const maxEntries = 10_000;

export class CheckedTokens {
  readonly #passed: BoundedMap<VerifiedToken>;
  readonly #now: () => number;
  readonly #seconds: number;

  /** @param now milliseconds since 1970 by the wall clock, which `exp` is written by. */
  constructor(seconds: number, now: () => number) {
    this.#passed = new BoundedMap(maxEntries, now);
    this.#now = now;
    this.#seconds = seconds;
  }

  get(digest: string): VerifiedToken | undefined {
    return this.#passed.get(digest);
  }

  add(digest: string, token: VerifiedToken): void {
    const until = Math.min(this.#now() + this.#seconds * 1000, token.expiresAt * 1000);
    if (until > this.#now()) this.#passed.set(digest, token, until);
  }
}
