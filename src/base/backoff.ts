/**
 * How long to wait before a server that failed is asked again.
 *
 * Invariant: each failure in a row doubles the wait up to a bound, a success forgets them, and what
 * the server itself asks for (Retry-After) is never cut short, not even by waking up.
 */

/** 1 s doubling to 5 min. In milliseconds. */
export const firstWait = 1000;
export const maxWait = 300_000;
/** The random part of a wait, so that many machines don't come back in one moment. */
const jitter = 0.25;

/** `first` at the first time in a row, twice as much at each further one, at most `max`. */
export function doubled(inARow: number, first: number, max: number): number {
  return Math.min(first * 2 ** (inARow - 1), max);
}

/** `doubled`, less a random part: the wait after so many failures in a row. */
export function backoffDelay(inARow: number, first: number, max: number): number {
  return doubled(inARow, first, max) * (1 - jitter * Math.random());
}

/** Steady instants, in milliseconds. */
export interface Outage {
  /** When the first of the failures in a row was. */
  readonly since: number;
  readonly nextTryAt: number;
}

interface Failures extends Outage {
  readonly inARow: number;
  /** The end of the wait that the server itself asked for. */
  readonly askedUntil: number;
}

export class Backoff {
  readonly #failures = new Map<string, Failures>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds until another try; 0: now. */
  left(key: string): number {
    return Math.max(0, (this.#failures.get(key)?.nextTryAt ?? 0) - this.#now());
  }

  /** The failures in a row that no success has ended; undefined where there are none. */
  trouble(key: string): Outage | undefined {
    return this.#failures.get(key);
  }

  /** `retryAfter` in seconds, as the server gave it. Answers the milliseconds until the next try. */
  failed(key: string, retryAfter = 0): number {
    const now = this.#now();
    const before = this.#failures.get(key);
    const inARow = (before?.inARow ?? 0) + 1;
    const wait = backoffDelay(inARow, firstWait, maxWait);
    const askedUntil = now + retryAfter * 1000;
    const nextTryAt = Math.max(now + wait, askedUntil);
    this.#failures.set(key, { inARow, since: before?.since ?? now, nextTryAt, askedUntil });
    return nextTryAt - now;
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }

  /** Forgets every failure whose key begins so. */
  forget(start: string): void {
    for (const key of this.#failures.keys()) {
      if (key.startsWith(start)) this.#failures.delete(key);
    }
  }

  /** The machine woke up: what failed before it slept says little now, so that the next need asks at once. */
  wake(): void {
    const now = this.#now();
    for (const [key, failures] of this.#failures) {
      this.#failures.set(key, { ...failures, inARow: 0, nextTryAt: Math.max(now, failures.askedUntil) });
    }
  }
}
