/** Ten thousand connections held at once (KEYTURN_SOAK_CONNECTIONS), served to the last, and given back. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { memory, openDescriptors } from '../ipc/fuzz.ts';
import { admitted, request, startRig } from '../ipc/rig.ts';
import { numberFrom, report } from './report.ts';

/** Connections of one client: below the limit of 1,024. */
const perClient = 1000;

/** Bytes a connection may leave behind. A leaked session alone would hold several thousand. */
const maxLeft = 2000;

const connection = path.join(import.meta.dirname, '..', '..', 'src', 'client', 'connection.ts');
const timer = path.join(import.meta.dirname, '..', '..', 'src', 'ipc', 'wire', 'timer.ts');

/** A process of its own, since one has too few descriptors for both ends: asks once on each connection at the end. */
const crowd = `
  import { openConnection } from '${connection}';
  import { after } from '${timer}';
  const [socket, count, identities] = process.argv.slice(1).map((word, i) => i > 0 ? JSON.parse(word) : word);
  const held = [];
  while (held.length < count)
    held.push(await openConnection({ identity: identities[held.length % identities.length], socket, after }));
  process.stdin.resume().on('end', async () => {
    for (const one of held) await one.request('status');
    process.stdout.write(String(held.length), () => process.exit());
  });`;

test('a crowd and an honest client are served, and nothing is left behind', async () => {
  const connections = numberFrom('KEYTURN_SOAK_CONNECTIONS', 10_000);
  const rig = await startRig();
  const identities = Array.from({ length: Math.ceil(connections / perClient) }, () => rig.enrol());
  const honest = rig.enrol();
  (await admitted(rig, honest)).socket.destroy();
  while (rig.server.callers().length > 0) await nextTurn();
  const before = { descriptors: openDescriptors(), memory: memory() };

  const words = [rig.socket, String(connections), JSON.stringify(identities)];
  const child = spawn(process.execPath, ['--input-type=module', '-e', crowd, ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  while (rig.server.callers().length < connections) await nextTurn();
  const memoryHeld = memory() - before.memory;
  const client = await admitted(rig, honest);
  for (let id = 0; id < 1000; id += 1) {
    client.send(request(id, 'status'));
    expect(await client.next()).toMatchObject({ id, result: {} });
  }
  client.socket.destroy();
  const ended = once(child, 'close');
  child.stdin.end();
  const answered = Number(await text(child.stdout));
  await ended;
  while (rig.server.callers().length > 0) await nextTurn();
  rig.events.length = 0;

  const memoryLeft = memory() - before.memory;
  const descriptorsLeft = openDescriptors() - before.descriptors;
  report('ipc-crowd', { connections, answered, memoryHeld, memoryLeft, descriptorsLeft });
  expect(answered).toBe(connections);
  expect(descriptorsLeft).toBeLessThanOrEqual(0);
  expect(memoryLeft).toBeLessThan(connections * maxLeft);
});
