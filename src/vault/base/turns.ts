/**
 * One at a time per key, in the order of asking.
 *
 * Invariant: two pieces of work under one key never overlap; a failed one doesn't stop the next.
 */

export type TakeTurn = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** A new set of lines; a line that has run empty is forgotten. */
export function turns(): TakeTurn {
  const lines = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = lines.get(key) ?? Promise.resolve();
    const mine = before.then(work);
    const settled = mine.catch(() => undefined);
    lines.set(key, settled);
    try {
      return await mine;
    } finally {
      if (lines.get(key) === settled) lines.delete(key);
    }
  };
}
