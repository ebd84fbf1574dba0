/**
 * How many tokens of one address may be refused, and which tokens that limit doesn't stop.
 *
 * Invariant: a token that passed here before is counted by itself, so that nobody at the same address locks it out by
 * wrong ones. Memory is bounded, and holds no token.
 */
import { BoundedMap } from '../base/bounded-map.ts';
import { RateLimiter, type Limit } from './rate-limit.ts';

/** Tokens that are remembered at once; each is a digest. */
const maxPassed = 10_000;

/** A day, in ms: a token ends before, and is forgotten once it is refused. */
const memory = 24 * 60 * 60 * 1000;

export class FailedTokens {
  readonly #failures: RateLimiter;
  /** By digest, and longer than a token is kept as checked: it is checked again and again. */
  readonly #passed: BoundedMap<true>;
  readonly #now: () => number;

  constructor(limit: Limit, now: () => number) {
    this.#failures = new RateLimiter(limit, now);
    this.#passed = new BoundedMap(maxPassed, now);
    this.#now = now;
  }

  /** Seconds until this token may be checked; undefined: now. */
  wait(address: string, digest: string): number | undefined {
    return this.#failures.wait(this.#key(address, digest));
  }

  passed(digest: string): void {
    if (!this.#passed.get(digest)) this.#passed.set(digest, true, this.#now() + memory);
  }

  /** `isToken`: the token itself was refused, and not its proof. */
  refused(address: string, digest: string, isToken: boolean): void {
    this.#failures.count(this.#key(address, digest));
    if (isToken) this.#passed.delete(digest);
  }

  /** Wrong proofs of a known token stop that token, and only from this address. */
  #key(address: string, digest: string): string {
    return this.#passed.get(digest) ? `${address} ${digest}` : address;
  }
}
