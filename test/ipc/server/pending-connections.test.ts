/** Connections without a proof: who is read, who waits, and who gives way. */
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import type { PeerFacts } from '../../../src/ipc/peer/peer.ts';
import { handshakeTimeout } from '../../../src/ipc/wire/limits.ts';
import { admitted, helloLine, proofsFor, prove, RawClient, startRig, startSlowRig } from '../rig.ts';

describe('connections without a proof', () => {
  test('reads no more of the 65th connection while 64 wait for the vault, and serves it once the vault answers', async () => {
    const { rig, asked, times, open } = await startSlowRig(64);
    const identity = rig.enrol();
    const line = helloLine(identity, rig.server.endpoint);
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

  test('lets the 65th unauthenticated connection wait until one leaves', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    const strangers = [];
    for (let i = 0; i < 64; i += 1) {
      const stranger = new RawClient(rig.socket);
      stranger.send(helloLine(identity, rig.server.endpoint));
      // Its answer shows that the broker has counted it.
      await stranger.next();
      strangers.push(stranger);
    }
    const late = admitted(rig, identity);
    strangers[0]?.socket.destroy();
    await late;
    expect(rig.server.callers()).toHaveLength(1);
  });

  test('serves 300 programs that connect at once, each a process of its own, and turns none away', async () => {
    let pid = 0;
    const rig = await startRig({
      readPeer: () => ({ kind: 'verified', uid: process.getuid?.() ?? 0, gid: 0, pid: (pid += 1) }),
    });
    const identity = rig.enrol();
    await Promise.all(Array.from({ length: 300 }, async () => admitted(rig, identity)));
    expect(rig.server.callers()).toHaveLength(300);
    expect(rig.events.filter(({ event }) => event === 'refused' || event === 'unusual')).toEqual([]);
  });

  test('turns the youngest of the process that waits most away where 1,024 wait', async () => {
    let pid = 7;
    const peer = { kind: 'verified', uid: process.getuid?.() ?? 0, gid: 0 } as const;
    const rig = await startRig({ readPeer: () => ({ ...peer, pid }) });
    const silent = [];
    for (let i = 0; i < 64 + 1024; i += 1) {
      const client = new RawClient(rig.socket);
      await new Promise((resolve) => client.socket.once('connect', resolve));
      // Half a line, which stays unread where it waits.
      client.socket.write('{');
      silent.push(client);
    }
    expect(await new RawClient(rig.socket).refusal()).toBe('rate_limited');
    pid = 8;
    const late = admitted(rig, rig.enrol());
    expect(await silent.at(-1)?.refusal()).toBe('rate_limited');
    // The oldest silent one had its place long enough.
    rig.clock.turn(500);
    expect(await silent[0]?.refusal()).toBe('rate_limited');
    await late;
    expect(rig.server.callers()).toHaveLength(1);
  });

  test('lets a program in before any of 64 silent processes gets its second place', async () => {
    const crowd = await startCrowdRig();
    for (let i = 0; i < 3 * 64; i += 1) await crowd.silent(1 + (i % 64));
    const late = await crowd.honest(100);
    crowd.rig.clock.turn(handshakeTimeout);
    await late.admitted;
    expect(crowd.rig.server.callers()).toHaveLength(1);
  });

  test('lets a silent connection give way after half a second where nothing tells it from one that waits', async () => {
    const crowd = await startCrowdRig();
    for (let i = 0; i < 64; i += 1) await crowd.silent(undefined);
    const late = await crowd.honest(undefined);
    crowd.rig.clock.turn(500);
    await late.admitted;
    expect(crowd.rig.server.callers()).toHaveLength(1);
  });

  test('turns none away that waits for the vault where nothing tells it from one that waits for a place', async () => {
    const { rig, asked, open } = await startSlowRig(64, { readPeer: () => ({ kind: 'unverified' }) });
    const identity = rig.enrol();
    const all = Array.from({ length: 65 }, async () => admitted(rig, identity));
    await asked;
    rig.clock.turn(500);
    open();
    await Promise.all(all);
    expect(rig.server.callers()).toHaveLength(65);
  });

  test('lets one that the vault has answered give way half a second later where nothing tells it from one that waits', async () => {
    const accepted: Socket[] = [];
    const readPeer = (socket: Socket): PeerFacts => {
      accepted.push(socket);
      return { kind: 'unverified' };
    };
    const { rig, asked, open } = await startSlowRig(64, { readPeer });
    const identity = rig.enrol();
    const idle = Array.from({ length: 64 }, () => new RawClient(rig.socket));
    for (const client of idle) client.send(helloLine(identity, rig.server.endpoint));
    await asked;
    const late = admitted(rig, identity);
    while (accepted.length < 65) await nextTurn();
    rig.clock.turn(handshakeTimeout);
    open();
    for (const client of idle) await client.next();
    rig.clock.turn(500);
    await late;
    expect(rig.server.callers()).toHaveLength(1);
  });

  test('makes nobody wait longer because the clock was set back', async () => {
    const crowd = await startCrowdRig();
    for (let i = 0; i < 64; i += 1) await crowd.silent(7);
    crowd.rig.clock.now -= 3_600_000;
    const late = await crowd.honest(8);
    crowd.rig.clock.turn(500);
    await late.admitted;
    expect(crowd.rig.server.callers()).toHaveLength(1);
  });
});

/** A rig whose clients belong to the processes that the test names; `undefined`: the kernel doesn't tell. */
async function startCrowdRig() {
  const own = { kind: 'verified', uid: process.getuid?.() ?? 0, gid: 0 } as const;
  let peer: PeerFacts = { kind: 'unverified' };
  let accepted = Promise.withResolvers<void>();
  const rig = await startRig({
    readPeer: () => {
      accepted.resolve();
      return peer;
    },
  });
  const connected = async <T>(pid: number | undefined, connect: () => T): Promise<T> => {
    peer = pid === undefined ? { kind: 'unverified' } : { ...own, pid };
    accepted = Promise.withResolvers();
    const made = connect();
    await accepted.promise;
    return made;
  };
  return {
    rig,
    silent: async (pid: number | undefined) => connected(pid, () => new RawClient(rig.socket)),
    honest: async (pid: number | undefined) =>
      connected(pid, () => ({ admitted: admitted(rig, rig.enrol()) })),
  };
}
