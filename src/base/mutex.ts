/**
 * Mutual exclusion for asynchronous work: one piece at a time, in the order of the calls.
 *
 * Invariant: two pieces of work under one key never overlap. One that fails doesn't stop the next.
 */

export type Mutex = <T>(work: () => Promise<T>) => Promise<T>;

export function mutex(): Mutex {
  const run = keyedMutex();
  return (work) => run('', work);
}

/** A mutex for each key. Keys without work are forgotten. */
export function keyedMutex(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const tails = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = tails.get(key) ?? Promise.resolve();
    const mine = before.then(work);
    const settled = mine.catch(() => undefined);
    tails.set(key, settled);
    try {
      return await mine;
    } finally {
      if (tails.get(key) === settled) tails.delete(key);
    }
  };
}
