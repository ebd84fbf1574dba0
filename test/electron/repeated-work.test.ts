import { expect, it } from 'vitest';
import { RepeatedWork } from '../../electron/tray/repeated-work.ts';

/** More steps of the microtask queue than one run takes. */
const steps = Array.from({ length: 30 }, (_, step) => step);

it.each(steps)('repeated work runs again after a call %i steps after the first', async (step) => {
  let newest = 'old';
  let seen = '';
  const work = new RepeatedWork(async () => {
    const read = newest;
    await Promise.resolve();
    await Promise.resolve();
    seen = read;
  });
  void work.run();
  for (let n = 0; n < step; n += 1) await Promise.resolve();
  newest = 'new';
  await work.run();
  expect(seen).toBe('new');
});
