/** The allowance of an asker, and how it refills. */
import { expect, test } from 'vitest';

import { RateLimit } from '../../../src/ipc/server/rate-limit.ts';

test('X-10: an allowance is used up, and refills evenly to no more than its burst', () => {
  let now = 0;
  const allowance = new RateLimit({ burst: 2, perSecond: 4 }, () => now);
  expect([allowance.wait, allowance.isFull]).toEqual([0, true]);
  allowance.take();
  allowance.take();
  expect(allowance.wait).toBe(250);
  now += 249;
  expect(allowance.wait).toBe(1);
  now += 1;
  expect(allowance.wait).toBe(0);
  now += 60_000;
  expect(allowance.isFull).toBe(true);
  allowance.take();
  allowance.take();
  expect(allowance.wait).toBe(250);
  allowance.giveBack();
  expect(allowance.wait).toBe(0);
});
