/** What happens as time passes, without a request: refreshes in the background, and the clock's events. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { fullScope } from '../../../src/broker/tokens/token-cache.ts';
import { startEvery, tickEvery, Upkeep } from '../../../src/broker/tokens/upkeep.ts';
import { signedInRig, inWorld, refusal, type Rig } from '../rig.ts';
import { worldOfFile } from '../places.ts';

const world = worldOfFile();

const minute = 60_000;
const hour = 60 * minute;

/** `tick` waits for what it starts, and answers how many refreshes the server saw. */
async function kept() {
  const rig = await signedInRig(inWorld(world));
  const upkeep = new Upkeep(rig.parts);
  return {
    ...rig,
    upkeep,
    async tick() {
      const before = world.counts().authorizationServer.refreshes;
      upkeep.tick();
      await rig.parts.refresher.settled();
      return world.counts().authorizationServer.refreshes - before;
    },
  };
}

async function rows({ parts, folder }: Rig, event: string): Promise<string[]> {
  await parts.audit.flush();
  return readFileSync(path.join(folder, 'audit.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter((row) => row.event === event)
    .map((row) => row.outcome);
}

/** What waits for the clock goes on. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The last tick before a request would have to wait for the refresh. */
const due = hour - 5 * minute - tickEvery;

describe('a token that a program uses', () => {
  it('is replaced before its margin is reached, and the program meets a fresh one', async () => {
    const rig = await kept();
    const first = await rig.ask();
    rig.clock.advance(due - 1);
    expect(await rig.tick()).toBe(0);
    rig.clock.advance(1);
    expect(await rig.tick()).toBe(1);
    const before = world.counts().authorizationServer.tokenRequests;
    expect((await rig.ask()).accessToken).not.toBe(first.accessToken);
    expect(world.counts().authorizationServer.tokenRequests).toBe(before);
  });

  it('a token is left to expire once no program uses it any more', async () => {
    const rig = await kept();
    rig.clock.advance(due);
    expect(await rig.tick()).toBe(0);
    await rig.ask();
    expect(await rig.tick()).toBe(1);
    rig.clock.advance(due);
    expect(await rig.tick()).toBe(0);
  });

  it('is not replaced while the vault is in trouble', async () => {
    const rig = await kept();
    await rig.ask();
    rig.clock.advance(due);
    rig.vault.failing.add('set');
    expect(await rig.tick()).toBe(0);
    const probes = rig.vault.done.length;
    rig.vault.failing.clear();
    expect(await rig.tick()).toBe(0);
    expect(rig.vault.done).toHaveLength(probes);
    // A request shows that the vault answers again.
    await rig.ask({ minimumValidity: hour });
    rig.clock.advance(due);
    expect(await rig.tick()).toBe(1);
  });
});

describe('tokens that are due at once', () => {
  /** Alice's and Bob's; both due. Which of them are being refreshed. */
  async function twoDue() {
    const rig = await kept();
    rig.person.account = 'bob';
    const ids = [rig.signIn().id, (await rig.login({ account: 'bob' })).id];
    const { cache, refresher } = rig.parts;
    for (const id of ids) cache.get(id, fullScope)?.handedTo.add('a program');
    rig.clock.advance(due);
    return { ...rig, begun: () => ids.map((id) => refresher.turns.isTaken(id)) };
  }

  it('are refreshed one after another, and none waits for the answer to another', async () => {
    const { clock, upkeep, parts, begun } = await twoDue();
    const held = world.holdTokenRequests();
    upkeep.tick();
    expect(begun()).toEqual([true, false]);
    // Neither another tick nor too short a time starts the next one.
    upkeep.tick();
    clock.advance(startEvery - 1);
    await turn();
    expect(begun()).toEqual([true, false]);
    clock.advance(1);
    await turn();
    expect(begun()).toEqual([true, true]);
    held.release();
    await parts.refresher.settled();
    expect(begun()).toEqual([false, false]);
  });
});

it('after a wake-up a failed server is asked at once, and what is due refreshed', async () => {
  const rig = await kept();
  await rig.ask();
  rig.clock.advance(due);
  world.failTokenRequests(1);
  expect(await rig.tick()).toBe(0);
  expect(await rig.tick()).toBe(0);
  const before = world.counts().authorizationServer.refreshes;
  rig.upkeep.resumed();
  await rig.parts.refresher.settled();
  expect(world.counts().authorizationServer.refreshes).toBe(before + 1);
});

describe('the tick', () => {
  it('notices that the machine slept, and that somebody set the clock', async () => {
    const rig = await kept();
    rig.clock.advance(hour);
    rig.upkeep.tick();
    rig.clock.suspend(hour);
    rig.upkeep.tick();
    rig.clock.setWall(2 * hour);
    rig.upkeep.tick();
    rig.clock.setWall(-hour);
    rig.upkeep.tick();
    const told = ['resumed after 3600 s', 'set forward by 7200 s', 'set back by 3600 s'];
    expect(await rows(rig, 'clock')).toEqual(told);
  });

  it('ends every wait after a suspend, but for one that the server asked for', async () => {
    const rig = await kept();
    const { backoff } = rig.parts.refresher.failures;
    for (let failure = 0; failure < 12; failure += 1) backoff.failed('a');
    backoff.failed('b', 7200);
    rig.clock.suspend(minute);
    rig.upkeep.tick();
    expect(backoff.left('a')).toBe(0);
    expect(backoff.left('b')).toBe(7_140_000);
  });
});

it.each([10 * hour, -10 * hour])(
  'somebody who sets the clock by %i ms ends no token and prolongs none',
  async (by) => {
    const rig = await kept();
    const first = await rig.ask();
    rig.clock.setWall(by);
    expect((await rig.ask()).accessToken).toBe(first.accessToken);
    rig.clock.advance(hour);
    world.failTokenRequests(1);
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'authorization_server_unreachable' });
  },
);
