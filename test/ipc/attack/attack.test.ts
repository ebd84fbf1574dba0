/** The socket under attack: many, fast, silent or greedy programs, and honest ones beside them. */
import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { frameLimit } from '../../../src/ipc/wire/limits.ts';
import { openDescriptors } from '../fuzz/fuzzer.ts';
import { admitted, greeted, prove, RawClient, request, type Rig, startRig } from '../rig.ts';

/** Milliseconds. Thousands of connections on a machine that is busy with ten other things: only a hang takes longer. */
const patience = 120_000;

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

describe('wrong proofs at speed', { timeout: patience }, () => {
  test('DOOR-2: slow their own process to one a second, and no other process', async () => {
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
});

describe('an admitted client', { timeout: patience }, () => {
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
