/**
 * How long to leave a server alone after it could not serve.
 *
 * Invariant: each failure in a row doubles the wait up to a bound, a success forgets them, and what
 * the server itself asks for (Retry-After) is never cut short.
 */

/** DESIGN, Numbers: 1 s doubling to 5 min. In milliseconds. */
const firstWait = 1000;
const longestWait = 300_000;
/** The part of a wait that is left to chance, so that many machines don't come back in one moment. */
const jitter = 0.25;

/** The wait after so many failures in a row: `first` doubling up to `longest` (milliseconds), less what is left to chance. */
export function pause(inARow: number, first: number, longest: number): number {
  return Math.min(first * 2 ** (inARow - 1), longest) * (1 - jitter * Math.random());
}

interface Failures {
  readonly inARow: number;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export class Backoff {
  readonly #failures = new Map<string, Failures>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds until another try; 0: now. */
  left(key: string): number {
    return Math.max(0, (this.#failures.get(key)?.until ?? 0) - this.#now());
  }

  /** `retryAfter` in seconds, as the server gave it. */
  failed(key: string, retryAfter = 0): void {
    const inARow = (this.#failures.get(key)?.inARow ?? 0) + 1;
    const wait = pause(inARow, firstWait, longestWait);
    this.#failures.set(key, { inARow, until: this.#now() + Math.max(wait, retryAfter * 1000) });
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }
}
