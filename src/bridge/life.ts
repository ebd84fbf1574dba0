/**
 * How long a bridge lives: as long as the process that started it.
 *
 * Invariant: ends within a second of its parent, also where that died and its end of the pipe was left open elsewhere.
 */
import { parentLook } from './base/limits.ts';

/** Aborts when the process gets another parent, or a signal to end. */
export function whileWanted(): AbortSignal {
  const end = new AbortController();
  const parent = process.ppid;
  // No system tells a process of its parent's death in a way that Node hears.
  const looking = setInterval(() => {
    if (process.ppid !== parent) end.abort();
  }, parentLook);
  looking.unref();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => end.abort());
  return end.signal;
}
