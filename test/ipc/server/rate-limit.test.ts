/** The allowance of an asker, and how it refills. */
import { expect, test } from 'vitest';

import { RateLimit, RateLimits } from '../../../src/ipc/server/rate-limit.ts';

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

test('an allowance leaves no debt, and is not frozen by a clock that is set back', () => {
  let now = 1_000_000;
  const allowance = new RateLimit({ burst: 1, perSecond: 1 }, () => now);
  for (let i = 0; i < 10; i += 1) allowance.take();
  expect(allowance.wait).toBe(1000);
  now -= 500_000;
  expect(allowance.wait).toBe(1000);
  now += 1000;
  expect(allowance.wait).toBe(0);
});

test('each asker has its own allowance, and a used one is remembered among thousands of unused ones', () => {
  const allowances = new RateLimits({ burst: 1, perSecond: 1 }, () => 0);
  allowances.of('busy').take();
  for (let i = 0; i < 10_000; i += 1) allowances.of(`other ${i}`);
  expect(allowances.of('busy').wait).toBe(1000);
});

test('askers that have all used up their allowance are forgotten one by one, the oldest first', () => {
  const allowances = new RateLimits({ burst: 1, perSecond: 1 }, () => 0);
  for (let i = 0; i <= 4096; i += 1) allowances.of(`asker ${i}`).take();
  expect(allowances.of('asker 4096').wait).toBe(1000);
  expect(allowances.of('asker 1').wait).toBe(1000);
  expect(allowances.of('asker 0').wait).toBe(0);
});
