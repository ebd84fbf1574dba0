/** A short form of the soak's sequences. */
import { it } from 'vitest';
import { runSequence } from './document-sequences.ts';

const sequences = 40;

it(`an answered denial holds, and the home opens, in ${sequences} sequences`, async () => {
  for (let seed = 1; seed <= sequences; seed += 1) await runSequence(seed);
});
