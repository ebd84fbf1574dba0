/** The idle lock, by a clock that a test turns. */
import { expect, it, onTestFinished } from 'vitest';
import { IdleLock } from '../../../src/daemon/vault/idle-lock.ts';
import { HandClock } from '../../broker/hand-clock.ts';
import { turnOfEvents } from '../../broker/rig.ts';

it('the idle lock checks when the machine wakes up, not only at the next tick', async () => {
  const clock = new HandClock();
  const begin = clock.now();
  const locks: number[] = [];
  const lock = async () => void locks.push(clock.now() - begin);
  const idle = new IdleLock({ clock, after: 60_000, lock });
  const run = idle.run();
  onTestFinished(async () => {
    idle.stop();
    await run;
  });
  clock.suspend(3_600_000);
  await turnOfEvents();
  expect(locks).toEqual([]);
  await idle.look();
  expect(locks).toEqual([3_600_000]);
});
