/** Ten thousand malformed frames against the real server; test/soak/ipc-fuzz.soak.ts throws a million. */
import { expect, test } from 'vitest';
import { fuzz } from './fuzz.ts';

/** The same frames in every run; KEYTURN_FUZZ_SEED repeats what a soak found. */
const seed = Number(process.env['KEYTURN_FUZZ_SEED'] ?? 20_260_401);

/** Bytes. Caches and compiled code take 2 or 3 MB; the soak finds leaks of small objects. */
const maxGrowth = 8 * 1024 * 1024;

test(`the broker survives 10,000 malformed frames (seed ${seed})`, async () => {
  const report = await fuzz(10_000, seed);
  expect(report.frames).toBeGreaterThanOrEqual(10_000);
  expect(report.heapGrowth).toBeLessThan(maxGrowth);
  expect(report.descriptorGrowth).toBeLessThanOrEqual(0);
  // The run would prove little if everything were refused, or nothing.
  expect(report.requests).toBeGreaterThan(2_000);
  expect(report.ended).toBeGreaterThan(100);
});
