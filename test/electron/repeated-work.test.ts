import { expect, it } from 'vitest';
import { repeatedWork } from '../../electron/tray/repeated-work.ts';

/** More steps of the microtask queue than one run takes. */
const steps = Array.from({ length: 30 }, (_, step) => step);

it.each(steps)('repeated work runs again after a call %i steps after the first', async (step) => {
  let newest = 'old';
  let seen = '';
  const run = repeatedWork(async () => {
    const read = newest;
    await Promise.resolve();
    await Promise.resolve();
    seen = read;
  });
  void run();
  for (let n = 0; n < step; n += 1) await Promise.resolve();
  newest = 'new';
  await run();
  expect(seen).toBe('new');
});
