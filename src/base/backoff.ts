/**
 * How long to wait before a request to a server that failed.
 *
 * Invariant: each failure in a row doubles the wait, up to a bound, and a success resets it. A wait that the server
 * asked for (Retry-After) is never cut short, not even after the machine slept.
 */

/** 1 s doubling to 5 min. In milliseconds. */
export const firstWait = 1000;
export const maxWait = 300_000;
/** The random part of a wait, so that many machines don't come back at the same moment. */
const jitter = 0.25;

/** The wait after `inARow` failures in a row: `first`, then twice as long each time, at most `max`. */
export function doubled(inARow: number, first: number, max: number): number {
  return Math.min(first * 2 ** (inARow - 1), max);
}

/** `doubled`, less a random part. */
export function backoffDelay(inARow: number, first: number, max: number): number {
  return doubled(inARow, first, max) * (1 - jitter * Math.random());
}

/** Steady instants, in milliseconds. */
export interface Outage {
  /** The first of the failures in a row. */
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

  /** The failures since the last success; undefined if there were none. */
  trouble(key: string): Outage | undefined {
    return this.#failures.get(key);
  }

  /** `retryAfter`: seconds, as the server gave it. Returns the milliseconds until the next try. */
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

  /** Forgets the failures of each key that begins with `start`. */
  forget(start: string): void {
    for (const key of this.#failures.keys()) {
      if (key.startsWith(start)) this.#failures.delete(key);
    }
  }

  /** After the machine slept, old failures say little: the next request may go out at once, or after Retry-After. */
  wake(): void {
    const now = this.#now();
    for (const [key, failures] of this.#failures) {
      this.#failures.set(key, { ...failures, inARow: 0, nextTryAt: Math.max(now, failures.askedUntil) });
    }
  }
}
