/**
 * How many requests one client or one address may send.
 *
 * Invariant: memory is bounded: of more than `maxKeys` counted keys the one that came least recently is forgotten.
 */
import { BoundedMap } from '../base/bounded-map.ts';

export interface Limit {
  readonly requests: number;
  /** In which so many requests are allowed, even all at once. */
  readonly seconds: number;
}

/** Keys that are counted at once: a few megabytes. */
const maxKeys = 10_000;

/** The generic cell rate algorithm (ITU-T I.371): one number a key, no timers, no moment of a whole new allowance. */
export class RateLimiter {
  /** When a key will have no debt left, in ms. */
  readonly #due: BoundedMap<number>;
  readonly #interval: number;
  readonly #burst: number;
  readonly #now: () => number;

  constructor({ requests, seconds }: Limit, now: () => number) {
    this.#burst = seconds * 1000;
    this.#interval = this.#burst / requests;
    this.#now = now;
    this.#due = new BoundedMap(maxKeys, now);
  }

  /** Seconds until another request of this key is allowed; undefined: it is allowed now. Counts nothing. */
  wait(key: string): number | undefined {
    const now = this.#now();
    const over = (this.#due.get(key) ?? now) + this.#interval - now - this.#burst;
    // Parts of a millisecond are rounding.
    return over < 1 ? undefined : Math.ceil(over / 1000);
  }

  count(key: string): void {
    const now = this.#now();
    const due = Math.max(this.#due.get(key) ?? now, now) + this.#interval;
    this.#due.set(key, due, due);
  }

  /** `wait`, and where the request is allowed it counts. */
  take(key: string): number | undefined {
    const wait = this.wait(key);
    if (wait === undefined) this.count(key);
    return wait;
  }
}
