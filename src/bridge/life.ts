/**
 * How long a bridge lives: as long as the process that started it.
 *
 * Invariant: ends within a second of its parent, even if another process still holds the parent's end of the pipe.
 */
import { parentLook } from './base/limits.ts';

/**
 * Aborts when the process has another parent than `parent`, or gets a signal to end. `parent`: its id, from a time
 * before the bridge's modules were loaded: it may die while they are.
 */
export function whileWanted(parent: number): AbortSignal {
  const end = new AbortController();
  // Node has no event for the death of the parent.
  const look = (): void => {
    if (process.ppid !== parent) end.abort();
  };
  look();
  setInterval(look, parentLook).unref();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => end.abort());
  return end.signal;
}
