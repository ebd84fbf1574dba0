/**
 * Streams of a stateful server that are opened again when they end: the one on which it speaks by itself (GET), and
 * those of requests.
 *
 * Invariant: the first is never given up while its session lives, unless the server says that it has none. The pauses
 * grow, within a bound; a pause that the server names (`retry` of its events) is kept within bounds.
 */
import type { Time } from '../../client/takeover.ts';

/** Milliseconds before the stream is opened again: the first pause doubles up to the last. */
export const firstPause = 500;
const lastPause = 300_000;

/** Milliseconds after which a stream counts as one that works: a proxy may end it for its age. */
export const steady = 30_000;

/** How one stream ended. */
export type Ending =
  /** The server has no such stream (405). */
  | 'none'
  | 'not open'
  /** `retry`: the milliseconds that the server names (HTML standard, server-sent events). */
  | { readonly retry: number | undefined };

export interface ListeningOptions {
  /** Opens the stream once, and resolves when it is over. */
  readonly open: () => Promise<Ending>;
  readonly time: Time;
  /** The session is over. */
  readonly signal: AbortSignal;
}

/** Rejects with the signal's reason. */
export async function keepListening({ open, time, signal }: ListeningOptions): Promise<void> {
  for (let tries = 0; !signal.aborted; tries += 1) {
    const began = time.now();
    const ending = await open();
    if (ending === 'none') return;
    if (ending !== 'not open' && time.now() - began >= steady) tries = 0;
    const named = ending === 'not open' ? undefined : ending.retry;
    // A server that names no time at all would have the bridge ask without a rest.
    await time.sleep(Math.min(Math.max(named ?? grown(tries), firstPause / 2), lastPause), signal);
  }
}

/** Milliseconds after so many tries. */
export function grown(tries: number): number {
  return Math.min(firstPause * 2 ** tries, lastPause);
}

/** Milliseconds that the stream of a request rests: a longer one would leave it without an answer for as long. */
const least = 250;
const most = 5000;
const longest = 60_000;

const growth = 1.5;

/** Milliseconds that a stream must have stayed for the pauses to begin again. */
const calm = 10_000;

export class Pauses {
  #quick = 0;
  #due = -Infinity;

  /** Milliseconds from `now` on. `wanted`: what the server asks for. They grow if it ends each stream at once. */
  next(wanted: number, now: number): number {
    this.#quick = now - this.#due < calm ? this.#quick + 1 : 0;
    const own = Math.min(most, least * growth ** this.#quick);
    const pause = Math.min(longest, Math.max(wanted, own));
    this.#due = now + pause;
    return pause;
  }
}
