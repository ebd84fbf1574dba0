/**
 * A million bent frames and more, other ones each time. KEYTURN_SOAK_FRAMES says how many,
 * KEYTURN_FUZZ_SEED repeats a run that failed: its error names the seed.
 */
import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { fuzz } from '../ipc/fuzz.ts';
import { numberFrom, report } from './report.ts';

/** Bytes. Does not grow with the number of frames: that is what the run is for. */
const maxGrowth = 16 * 1024 * 1024;

test('every promise of the socket is kept under bent frames', async () => {
  const frames = numberFrom('KEYTURN_SOAK_FRAMES', 1_000_000);
  const seed = numberFrom('KEYTURN_FUZZ_SEED', randomInt(2 ** 31));
  const numbers = await fuzz(frames, seed);
  report('ipc-fuzz', numbers);
  expect(numbers.frames).toBeGreaterThanOrEqual(frames);
  expect(numbers.heapGrowth).toBeLessThan(maxGrowth);
  expect(numbers.descriptorGrowth).toBe(0);
});
