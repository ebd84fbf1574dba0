/** Connections without a proof: who is read, who waits, and who is turned away. */
import { describe, expect, test } from 'vitest';

import { handshakeTimeout } from '../../../src/ipc/wire/limits.ts';
import { admitted, helloLine, proofsFor, prove, RawClient, startRig, startSlowRig } from '../rig.ts';

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
