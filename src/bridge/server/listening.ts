/**
 * The stream on which a stateful server speaks by itself (GET): opened, and opened again whenever it ends.
 *
 * Invariant: never given up while its session lives, unless the server says that it has none. The pauses grow, within a
 * bound; a pause that the server names is kept.
 */

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
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds on a clock that only goes forward. */
  readonly now: () => number;
  /** The session is over. */
  readonly signal: AbortSignal;
}

/** Rejects with the signal's reason. */
export async function keepListening({ open, wait, now, signal }: ListeningOptions): Promise<void> {
  for (let tries = 0; !signal.aborted; tries += 1) {
    const began = now();
    const ending = await open();
    if (ending === 'none') return;
    if (ending !== 'not open' && now() - began >= steady) tries = 0;
    const named = ending === 'not open' ? undefined : ending.retry;
    await wait(bounded(named ?? grown(tries)), signal);
  }
}

/** Milliseconds after so many tries. */
export function grown(tries: number): number {
  return Math.min(firstPause * 2 ** tries, lastPause);
}

/** A server that names no time at all would have the bridge ask without a rest. */
function bounded(ms: number): number {
  return Math.min(Math.max(ms, firstPause / 2), lastPause);
}
