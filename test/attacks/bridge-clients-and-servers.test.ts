/** Hostile servers and clumsy clients of the bridge: what must not loop, grow or stay without an answer. */
import type http from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { exchange, startBridge } from '../bridge/rig.ts';
import { until } from '../support/home.ts';
import { startLoopbackServer } from '../support/servers/loopback-server.ts';

interface Message {
  readonly id?: unknown;
  readonly method?: string;
}

type Answering = (message: Message, response: http.ServerResponse) => boolean;

/** A server by hand: the SDK's does nothing of this. What `answering` leaves gets an empty answer. */
async function serverBy(answering: Answering): Promise<{ url: URL; methods: string[] }> {
  const methods: string[] = [];
  const origin = await startLoopbackServer((request, response) => {
    void (async () => {
      let text = '';
      for await (const piece of request) text += String(piece);
      const message = JSON.parse(text === '' ? '{}' : text) as Message;
      methods.push(message.method ?? request.method ?? '');
      if (answering(message, response)) return;
      if (message.id === undefined)
        return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: {} }));
    })();
  });
  return { url: new URL(`${origin}/mcp`), methods };
}

const request = (id: number, method = 'ping'): string => JSON.stringify({ jsonrpc: '2.0', id, method });

it('BR-3: answers with an error if a result is nested too deeply', async () => {
  const depth = 100_000;
  const { url } = await serverBy(({ id, method }, response) => {
    if (method !== 'tools/call') return false;
    const deep = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":${deep}}`);
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
  const { url, methods } = await serverBy(({ method }) => method === 'notifications/initialized');
  const bridge = await startBridge(url);
  await exchange(bridge, request(0, 'initialize'));
  bridge.toBridge.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  await until('the server has it', () => methods.includes('notifications/initialized'));
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
  const { url, methods } = await serverBy(({ id, method }, response) => {
    if (method !== 'tools/call') return false;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { text: 'a'.repeat(17 * 2 ** 20) } }));
    return true;
  });
  const { toBridge, fromBridge } = await startBridge(url);
  toBridge.write(`${request(1, 'tools/call')}\n`);
  await until('the answer waits', () => fromBridge.writableLength + fromBridge.readableLength > 2 ** 24);
  expect(toBridge.isPaused()).toBe(true);
  toBridge.write(`${request(2)}\n`);
  fromBridge.pipe(new PassThrough()).resume();
  await until('the next request is there', () => methods.includes('ping'));
});
