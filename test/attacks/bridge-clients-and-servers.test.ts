/** Hostile servers and clumsy clients of the bridge: what must not loop, grow or stay without an answer. */
import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { exchange, startBridge } from '../bridge/rig.ts';
import { json, type Message, plain, serve } from '../field/bridge/server.ts';
import { until } from '../support/home.ts';

/** What `answering` leaves gets the answer of a plain server. */
const serverBy = (answering: (message: Message, response: ServerResponse) => boolean) =>
  serve((request, response, message) => {
    if (!answering(message, response)) plain(request, response, message);
  });

const request = (id: number, method = 'ping'): string => JSON.stringify({ jsonrpc: '2.0', id, method });

it('BR-3: answers with an error if a result to be rewritten is nested too deeply', async () => {
  const depth = 100_000;
  const { url } = await serverBy(({ id, method }, response) => {
    if (method !== 'tools/call') return false;
    const deep = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    // On two lines, so that it can't pass as it came.
    json(response, 200, `{"jsonrpc":"2.0","id":${id},\n"result":${deep}}`);
    return true;
  });
  const bridge = await startBridge(url);
  expect(await exchange(bridge, request(1, 'tools/call'))).toMatchObject({
    id: 1,
    error: { message: expect.stringContaining('nested too deeply') },
  });
  expect(await exchange(bridge, request(2))).toMatchObject({ id: 2, result: {} });
});

it('releases a cancelled request though the server takes nothing before it', async () => {
  const { url, log } = await serverBy(({ method }) => method === 'notifications/initialized');
  const bridge = await startBridge(url);
  await exchange(bridge, request(0, 'initialize'));
  bridge.toBridge.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  await until('the server has it', () => log.includes('POST notifications/initialized'));
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  bridge.toBridge.write(`${request(1)}\n${JSON.stringify(cancelled)}\n`);
  const heard: string[] = [];
  bridge.fromBridge.on('data', (piece: Buffer) => heard.push(piece.toString()));
  // The same id again is no second request under way; a line that is no message shows that the bridge has read on.
  await new Promise((resolve) => setImmediate(resolve));
  bridge.toBridge.write(`${request(1)}\n{\n`);
  await until('the line is answered', () => heard.some((text) => text.includes('-32700')));
  expect(heard.join('')).not.toContain('under way');
});

it('reads no more of a client that takes no answers, and resumes', async () => {
  const { url, log } = await serverBy(({ id, method }, response) => {
    if (method !== 'tools/call') return false;
    json(response, 200, { jsonrpc: '2.0', id, result: { text: 'a'.repeat(17 * 2 ** 20) } });
    return true;
  });
  const { toBridge, fromBridge } = await startBridge(url);
  toBridge.write(`${request(1, 'tools/call')}\n`);
  await until('the answer waits', () => fromBridge.writableLength + fromBridge.readableLength > 2 ** 24);
  expect(toBridge.isPaused()).toBe(true);
  toBridge.write(`${request(2)}\n`);
  fromBridge.pipe(new PassThrough()).resume();
  await until('the next request is there', () => log.includes('POST ping'));
});
