/** A day at a laptop, in injected time: sleeps, set clocks, a late network. KEYTURN_DAY_SEED repeats a day. */
import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { Upkeep } from '../../../src/broker/tokens/upkeep.ts';
import { chances } from '../../support/chances.ts';
import { numberFrom, report } from '../../soak/report.ts';
import { brokerRig, inWorld } from '../rig.ts';
import { worldOfFile } from '../places.ts';

const world = worldOfFile();

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const lifetime = hour;
const programs = ['editor', 'agent', 'script'];

const days = process.env['KEYTURN_SOAK'] === '1' ? 30 : 1;

it('a day of suspends costs one sign-in and uses no refresh token twice', async () => {
  const seed = numberFrom('KEYTURN_DAY_SEED', randomInt(2 ** 31));
  const chance = chances(seed);
  const upTo = (most: number): number => Math.ceil(most * chance());
  const oneIn = (number: number): boolean => chance() < 1 / number;
  const rig = await brokerRig(inWorld(world));
  const { clock, parts, ask } = rig;
  for (const name of programs) await rig.allow(name);
  await rig.login();
  const upkeep = new Upkeep(parts);
  const counts = () => world.counts().authorizationServer;
  const before = { ...counts() };
  const numbers = { suspends: 0, answers: 0, refusedOffline: 0, failures: 0 };

  /** All programs at once: one token, and one that lives. */
  const askAll = async (): Promise<void> => {
    const tokens = await Promise.all(programs.map((appId) => ask({ appId, interaction: 'never' })));
    expect(new Set(tokens.map(({ tokenId }) => tokenId)).size).toBe(1);
    for (const { expiresAt } of tokens) expect(expiresAt).toBeGreaterThan(clock.now());
    numbers.answers += tokens.length;
  };
  const awake = async (milliseconds: number): Promise<void> => {
    const end = clock.now() + milliseconds;
    while (clock.now() < end) {
      clock.advance(minute);
      upkeep.tick();
      await parts.refresher.settled();
      if (oneIn(3)) await askAll();
    }
  };
  /** The first request after it, or a tick in the background, meets a network that isn't there yet. */
  const wakeUp = async (): Promise<void> => {
    clock.suspend(upTo(oneIn(4) ? 9 * hour : 20 * minute));
    if (oneIn(5)) clock.setWall(upTo(hour) - hour / 2);
    numbers.suspends += 1;
    if (oneIn(3)) {
      world.failTokenRequests(1);
      numbers.failures += 1;
      if (oneIn(2)) upkeep.tick();
      else await offline();
      await parts.refresher.settled();
      world.failTokenRequests(0);
      upkeep.resumed();
    } else if (oneIn(2)) upkeep.tick();
    await askAll();
  };
  const offline = async (): Promise<void> => {
    try {
      await ask({ interaction: 'never' });
    } catch (error) {
      expect(error).toMatchObject({ reason: 'authorization_server_unreachable' });
      numbers.refusedOffline += 1;
    }
  };

  const end = clock.now() + days * day;
  while (clock.now() < end) {
    await awake(upTo(90 * minute));
    await wakeUp();
  }
  const refreshes = counts().refreshes - before.refreshes;
  report('day-of-suspends', { seed, days, ...numbers, refreshes });
  expect(counts()).toMatchObject({ signIns: before.signIns, refreshReuses: before.refreshReuses });
  // Each token is replaced in the last fifth of its life or later; awake or asleep, no more than that are needed.
  expect(refreshes).toBeLessThanOrEqual(Math.ceil((days * day) / (lifetime - 6 * minute)) + numbers.failures);
  expect(rig.pages).toHaveLength(1);
});
