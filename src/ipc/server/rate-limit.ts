/**
 * Allowances: how much of something one caller may have at once, refilled evenly as time passes.
 *
 * Invariant: nobody's use empties another's allowance. A clock that is set back neither fills nor
 * freezes one. Memory is bounded: allowances that are full again are forgotten first.
 */

export interface Rate {
  /** Most at once. */
  readonly burst: number;
  /** Refilled each second, up to `burst`. */
  readonly perSecond: number;
}

/** Callers remembered at once, each some 100 bytes: many more than one user runs programs. */
const maxRemembered = 4096;

/** One of what is allowed, in thousandths: a millisecond then refills a whole number of them. */
const one = 1000;

/** What one caller has left. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #now: () => number;
  /** Thousandths. */
  #left: number;
  #asOf: number;

  /** `now`: milliseconds. */
  constructor(rate: Rate, now: () => number) {
    this.#rate = rate;
    this.#now = now;
    this.#left = rate.burst * one;
    this.#asOf = now();
  }

  /** Milliseconds until one more may be taken; 0: now. */
  get wait(): number {
    // Time only adds to what is left.
    if (this.#left >= one) return 0;
    this.#refill();
    return this.#left >= one ? 0 : Math.ceil((one - this.#left) / this.#rate.perSecond);
  }

  get isFull(): boolean {
    this.#refill();
    return this.#left >= this.#rate.burst * one;
  }

  /** Uses one up. Never leaves a debt: what was begun before `wait` said so costs no more than all. */
  take(): void {
    this.#refill();
    this.#left = Math.max(0, this.#left - one);
  }

  /** Returns what `take` used up. */
  giveBack(): void {
    this.#left = Math.min(this.#rate.burst * one, this.#left + one);
  }

  #refill(): void {
    const now = this.#now();
    const passed = Math.max(0, now - this.#asOf);
    this.#asOf = now;
    this.#left = Math.min(this.#rate.burst * one, this.#left + passed * this.#rate.perSecond);
  }
}

/** One allowance for each caller, on the same terms. */
export class RateLimits {
  readonly #rate: Rate;
  readonly #now: () => number;
  readonly #kept = new Map<string, RateLimit>();

  constructor(rate: Rate, now: () => number) {
    this.#rate = rate;
    this.#now = now;
  }

  of(key: string): RateLimit {
    const known = this.#kept.get(key);
    if (known) return known;
    if (this.#kept.size >= maxRemembered) this.#forget();
    const fresh = new RateLimit(this.#rate, this.#now);
    this.#kept.set(key, fresh);
    return fresh;
  }

  /** Drops those that are full again; where none is, the oldest. */
  #forget(): void {
    for (const [key, rateLimit] of this.#kept) if (rateLimit.isFull) this.#kept.delete(key);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size >= maxRemembered && !oldest.done) this.#kept.delete(oldest.value);
  }
}
