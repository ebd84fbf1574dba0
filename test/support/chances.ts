/** Chance that a seed repeats. */
import { createHash } from 'node:crypto';

/** Numbers from 0 to 1, the same for the same seed. */
export function chances(seed: number): () => number {
  let number = 0;
  return () => {
    number += 1;
    return createHash('sha256').update(`${seed} ${number}`).digest().readUInt32BE() / 2 ** 32;
  };
}
