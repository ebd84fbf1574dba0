/** The timer on the real clock. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { portOf } from '../../support/servers/loopback-server.ts';
import { after } from '../../../src/ipc/wire/timer.ts';

/** Both ends of one connection of this process to itself, until the test ends. */
async function socketPair(): Promise<{ readonly client: Socket; readonly server: Socket }> {
  const listening = createServer();
  const port = await portOf(listening);
  const accepted = once(listening, 'connection');
  const client = connect(port, '127.0.0.1');
  const [server]: Socket[] = await accepted;
  if (!server) throw new Error('no connection');
  onTestFinished(() => {
    client.destroy();
    server.destroy();
  });
  return { client, server };
}

/** Nothing of this process runs for so many milliseconds, as if it had been stopped. */
const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

it('a process that stood still reads what arrived before its time is up', async () => {
  const { client, server } = await socketPair();
  const events: string[] = [];
  const cancel = after(20, () => events.push('over, in spite of the answer'));
  server.once('data', () => {
    events.push('data');
    cancel();
  });
  const over = new Promise<void>((resolve) => {
    after(20, () => {
      events.push('over');
      resolve();
    });
  });
  client.write('an answer');
  standStill(60);
  await over;
  expect(events).toEqual(['data', 'over']);
});
