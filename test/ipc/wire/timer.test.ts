/** The timer on the real clock. */
import { expect, it } from 'vitest';
import { after } from '../../../src/ipc/wire/timer.ts';
import { socketPair } from '../../support/servers/socket-pair.ts';

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
