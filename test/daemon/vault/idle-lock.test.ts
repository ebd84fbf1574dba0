/** The idle lock, by a clock that a test turns. */
import { expect, it, onTestFinished } from 'vitest';
import { IdleLock } from '../../../src/daemon/vault/idle-lock.ts';
import { HandClock } from '../../broker/hand-clock.ts';
import { turnOfEvents } from '../../broker/rig.ts';

function idleAfter(seconds: number) {
  const clock = new HandClock();
  const locks: number[] = [];
  const begin = clock.now();
  const idle = new IdleLock({
    clock,
    after: seconds * 1000,
    lock: async () => void locks.push((clock.now() - begin) / 1000),
  });
  const run = idle.run();
  onTestFinished(async () => {
    idle.stop();
    await run;
  });
  const pass = async (by: number): Promise<void> => {
    clock.advance(by * 1000);
    await turnOfEvents();
  };
  return { idle, clock, locks, pass };
}

it('the idle lock checks when the machine wakes up, not only at the next tick', async () => {
  const { idle, clock, locks } = idleAfter(60);
  clock.suspend(3_600_000);
  await turnOfEvents();
  expect(locks).toEqual([]);
  await idle.look();
  expect(locks).toEqual([3600]);
});
