/**
 * How long a bridge lives: as long as the process that started it.
 *
 * Invariant: ends within a second of its parent, also where that died and its end of the pipe was left open elsewhere.
 */
import { parentLook } from './base/limits.ts';

/**
 * Aborts when the process has another parent than `parent`, or gets a signal to end. `parent`: its id, from a time
 * before the bridge's modules were loaded: it may die while they are.
 */
export function whileWanted(parent: number): AbortSignal {
  const end = new AbortController();
  // No system tells a process of its parent's death in a way that Node hears.
  const look = (): void => {
    if (process.ppid !== parent) end.abort();
  };
  look();
  setInterval(look, parentLook).unref();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => end.abort());
  return end.signal;
}
