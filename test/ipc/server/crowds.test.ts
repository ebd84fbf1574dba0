/** The socket under attack: many, fast, silent or greedy programs, and honest ones beside them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { RateLimit } from '../../../src/ipc/server/rate-limit.ts';
import { frameLimit, handshakeTimeout } from '../../../src/ipc/wire/limits.ts';
import { openDescriptors } from '../fuzz.ts';
import {
  admitted,
  greeted,
  helloLine,
  proofsFor,
  prove,
  RawClient,
  request,
  type Rig,
  startRig,
  startSlowRig,
} from '../rig.ts';

/** So many whole handshakes, each with a request, one after another. */
async function honestVisits(rig: Rig, visits: number): Promise<void> {
  const identity = rig.enrol();
  for (let visit = 0; visit < visits; visit += 1) {
    const client = await admitted(rig, identity);
    client.send(request(visit, 'status'));
    expect(await client.next()).toMatchObject({ id: visit, result: { method: 'status' } });
    client.socket.destroy();
  }
}

/** Waits until the broker has noticed that everyone left. */
async function deserted(rig: Rig): Promise<void> {
  while (rig.server.callers().length > 0) await nextTurn();
}

test('DOOR-2: wrong proofs slow their own process to one a second, and no other', async () => {
  let pid = 7;
  const uid = process.getuid?.() ?? 0;
  const rig = await startRig({ readPeer: () => ({ kind: 'verified', uid, gid: 0, pid }) });
  const identity = rig.enrol();
  // Successes aren't counted.
  for (let i = 0; i < 60; i += 1) (await admitted(rig, identity)).socket.destroy();
  await deserted(rig);
  const fail = async () => {
    const client = new RawClient(rig.socket);
    client.send(request(1, 'status'));
    return client.next();
  };
  for (let i = 0; i < 50; i += 1) {
    expect(await fail()).toMatchObject({ error: { data: { reason: 'handshake_failed' } } });
  }
  const told = { id: null, error: { data: { reason: 'rate_limited', retryAfter: 1 } } };
  for (let i = 0; i < 20; i += 1) expect(await fail()).toMatchObject(told);
  expect(new Set(rig.limits)).toEqual(new Set(['failed handshakes']));
  // Connections that were refused at once do not flood the log.
  expect(rig.events.filter(({ event }) => event === 'refused')).toHaveLength(50);
  pid = 8;
  await honestVisits(rig, 60);
  pid = 7;
  rig.clock.turn(999);
  expect(await fail()).toMatchObject(told);
  rig.clock.turn(1);
  await admitted(rig, identity);
  expect(rig.server.callers()).toHaveLength(1);
  expect(await fail()).toMatchObject({ error: { data: { reason: 'handshake_failed' } } });
  expect(await fail()).toMatchObject(told);
});

describe('an admitted client', () => {
  test('DOOR-2: may ask for what is in memory as fast as it can', async () => {
    const rig = await startRig();
    const client = await admitted(rig, rig.enrol());
    const asked = 5000;
    for (let id = 0; id < asked; id += 1) client.send(request(id, 'token.get'));
    for (let id = 0; id < asked; id += 1) expect(await client.next()).toMatchObject({ id, result: {} });
  });

  test('DOOR-2: that never reads does not keep the broker from stopping', async () => {
    const rig = await startRig();
    const client = await admitted(rig, rig.enrol());
    client.socket.pause();
    const text = 'x'.repeat(frameLimit / 2);
    for (let i = 0; i < 4; i += 1) rig.server.callers()[0]?.notify('status.changed', { text });
    await rig.stop();
    await rig.seen(({ event }) => event === 'closed');
  });
});

test('DOOR-2: 1,024 connections of one client are served and leave nothing', async () => {
  const rig = await startRig();
  const before = openDescriptors();
  const crowded = rig.enrol();
  const crowd: RawClient[] = [];
  while (crowd.length < 1024) crowd.push(await admitted(rig, crowded));
  expect(rig.server.callers()).toHaveLength(1024);
  // One more is one too many for this client, and for no other.
  const { client: late, proofC } = await greeted(rig, crowded);
  late.send(prove(proofC));
  expect(await late.refusal()).toBe('rate_limited');
  await honestVisits(rig, 20);
  for (const [id, client] of crowd.entries()) client.send(request(id, 'status'));
  for (const [id, client] of crowd.entries()) expect(await client.next()).toMatchObject({ id });
  for (const client of crowd) client.socket.destroy();
  await deserted(rig);
  expect(openDescriptors()).toBeLessThanOrEqual(before);
  await admitted(rig, crowded);
  expect(rig.server.callers()).toHaveLength(1);
});

describe('connections without a proof', () => {
  test('reads no more of the 65th connection while 64 wait for the vault', async () => {
    const { rig, asked, times, open } = await startSlowRig(64);
    const identity = rig.enrol();
    const line = helloLine(identity, rig.server.socketId);
    const crowd = Array.from({ length: 64 }, () => new RawClient(rig.socket));
    for (const client of crowd) client.send(line);
    await asked;
    rig.clock.turn(handshakeTimeout);
    const late = admitted(rig, identity);
    // Who comes later was accepted later.
    await new Promise((resolve) => new RawClient(rig.socket).socket.once('connect', resolve));
    expect(times()).toBe(64);
    open();
    for (const client of crowd) {
      const { proofC } = proofsFor(identity, line, await client.next());
      client.send(prove(proofC));
    }
    await late;
    expect(rig.events.filter(({ event }) => event === 'refused')).toEqual([]);
  });

  test('X-10: turns the next one away if 1,024 wait, and serves the last in its turn', async () => {
    const rig = await startRig();
    const silent = [];
    for (let i = 0; i < 64 + 1023; i += 1) {
      const client = new RawClient(rig.socket);
      await new Promise((resolve) => client.socket.once('connect', resolve));
      silent.push(client);
    }
    const last = admitted(rig, rig.enrol());
    expect(await new RawClient(rig.socket).refusal()).toBe('rate_limited');
    expect(rig.limits).toEqual(['handshakes']);
    expect(rig.server.callers()).toEqual([]);
    for (const client of silent) client.socket.destroy();
    await last;
    expect(rig.server.callers()).toHaveLength(1);
  });
});

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
