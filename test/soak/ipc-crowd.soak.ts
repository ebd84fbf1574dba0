/** Ten thousand connections held at once (KEYTURN_SOAK_CONNECTIONS), served to the last, and given back. */
import { setImmediate as nextTurn } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { attack } from '../ipc/attack/attack-process.ts';
import { memory, openDescriptors } from '../ipc/fuzz/fuzzer.ts';
import { admitted, request, startRig } from '../ipc/rig.ts';
import { numberFrom, report } from './report.ts';

/** Connections of one client: below the limit of 1,024. */
const perClient = 1000;

/** Bytes a connection may leave behind. A leaked session alone would hold several thousand. */
const maxLeft = 2000;

test('a crowd is held and served, an honest client beside it too, and nothing is left behind', async () => {
  const connections = numberFrom('KEYTURN_SOAK_CONNECTIONS', 10_000);
  const rig = await startRig();
  const identities = Array.from({ length: Math.ceil(connections / perClient) }, () => rig.enrol());
  const honest = rig.enrol();
  (await admitted(rig, honest)).socket.destroy();
  while (rig.server.callers().length > 0) await nextTurn();
  const before = { descriptors: openDescriptors(), memory: memory() };

  const crowd = await attack('crowd', rig.socket, String(connections), JSON.stringify(identities));
  while (rig.server.callers().length < connections) await nextTurn();
  const memoryHeld = memory() - before.memory;
  const client = await admitted(rig, honest);
  for (let id = 0; id < 1000; id += 1) {
    client.send(request(id, 'status'));
    expect(await client.next()).toMatchObject({ id, result: {} });
  }
  client.socket.destroy();
  const { answered } = await crowd.stop();
  while (rig.server.callers().length > 0) await nextTurn();
  rig.events.length = 0;

  const memoryLeft = memory() - before.memory;
  const descriptorsLeft = openDescriptors() - before.descriptors;
  report('ipc-crowd', { connections, answered, memoryHeld, memoryLeft, descriptorsLeft });
  expect(answered).toBe(connections);
  expect(descriptorsLeft).toBeLessThanOrEqual(0);
  expect(memoryLeft).toBeLessThan(connections * maxLeft);
});
