/**
 * Allowances: how much of something one asker may have at once, refilled evenly as time passes.
 *
 * Invariant: nobody's use empties another's allowance. A clock that is set back neither fills nor
 * freezes one, and what has become full again is forgotten, so that a new asker costs no memory.
 */

export interface Terms {
  /** Most at once. */
  readonly burst: number;
  /** Refilled each second, up to `burst`. */
  readonly perSecond: number;
}

/** Askers remembered at once, each some 100 bytes: many more than one user runs programs. */
const maxRemembered = 4096;

/** One of what is allowed, in thousandths: a millisecond then refills a whole number of them. */
const one = 1000;

/** What one asker has left. */
export class Allowance {
  readonly #terms: Terms;
  readonly #now: () => number;
  /** Thousandths. */
  #left: number;
  #asOf: number;

  /** `now`: milliseconds. */
  constructor(terms: Terms, now: () => number) {
    this.#terms = terms;
    this.#now = now;
    this.#left = terms.burst * one;
    this.#asOf = now();
  }

  /** Milliseconds until one more may be taken; 0: now. */
  get wait(): number {
    this.#refill();
    return this.#left >= one ? 0 : Math.ceil((one - this.#left) / this.#terms.perSecond);
  }

  get isFull(): boolean {
    this.#refill();
    return this.#left >= this.#terms.burst * one;
  }

  /** Uses one up. Never leaves a debt: what was begun before `wait` said so costs no more than all. */
  take(): void {
    this.#refill();
    this.#left = Math.max(0, this.#left - one);
  }

  /** Returns what `take` used up. */
  giveBack(): void {
    this.#left = Math.min(this.#terms.burst * one, this.#left + one);
  }

  #refill(): void {
    const now = this.#now();
    const passed = Math.max(0, now - this.#asOf);
    this.#asOf = now;
    this.#left = Math.min(this.#terms.burst * one, this.#left + passed * this.#terms.perSecond);
  }
}

/** One allowance for each asker, on the same terms. */
export class Allowances {
  readonly #terms: Terms;
  readonly #now: () => number;
  readonly #kept = new Map<string, Allowance>();

  constructor(terms: Terms, now: () => number) {
    this.#terms = terms;
    this.#now = now;
  }

  of(asker: string): Allowance {
    const known = this.#kept.get(asker);
    if (known) return known;
    if (this.#kept.size >= maxRemembered) this.#forget();
    const fresh = new Allowance(this.#terms, this.#now);
    this.#kept.set(asker, fresh);
    return fresh;
  }

  /** Drops those that are full again; where none is, the oldest. */
  #forget(): void {
    for (const [asker, allowance] of this.#kept) if (allowance.isFull) this.#kept.delete(asker);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size >= maxRemembered && !oldest.done) this.#kept.delete(oldest.value);
  }
}
