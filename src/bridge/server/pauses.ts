/**
 * How long a stream that ended rests before it is taken up again.
 *
 * Invariant: a server may ask for any pause (`retry` of its events), and gets one within bounds. If it
 * ends each stream at once, the pauses grow to `most` milliseconds.
 */

/** Milliseconds. A longer one would leave a request without an answer for as long. */
const least = 250;
const most = 5000;
const longest = 60_000;

const growth = 1.5;

/** Milliseconds that a stream must have stayed for the pauses to begin again. */
const calm = 10_000;

export class Pauses {
  #quick = 0;
  #due = -Infinity;

  /** Milliseconds from `now` on, in place of those that the server or the SDK wants. */
  next(wanted: number, now: number): number {
    this.#quick = now - this.#due < calm ? this.#quick + 1 : 0;
    const grown = Math.min(most, least * growth ** this.#quick);
    const pause = Math.min(longest, Math.max(wanted, grown));
    this.#due = now + pause;
    return pause;
  }
}
