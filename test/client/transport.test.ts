/** What a transport of the protocol's SDK gets, in both major versions: how long it waits, and the older SSE transport. */
import { SSEClientTransport as Sse2 } from '@modelcontextprotocol/client';
import { SSEClientTransport as Sse1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { expect, onTestFinished, test } from 'vitest';
import { transportOptions } from '../../src/client/transport.ts';
import { startLoopbackServer } from '../support/servers/loopback-server.ts';
import type { Call } from '../support/token-broker.ts';
import { connectedProgram, startHttp } from './fetch-rig.ts';

async function startBroker(resource: string) {
  const calls: Call[] = [];
  const connection = await connectedProgram(resource, calls);
  return { calls, connection };
}

test.each([
  [undefined, 45],
  [7, 7],
])('waits for the first token, and less than the SDK for each request (%s)', async (timeout, waits) => {
  const { origin } = await startHttp();
  const resource = `${origin}/api`;
  const { calls, connection } = await startBroker(resource);
  const common = { resource, interaction: 'allow', scope: 'read' } as const;
  const { fetch } = await transportOptions(connection, { ...common, timeout });
  expect(calls).toEqual([{ method: 'token.get', params: common }]);
  await fetch(resource);
  expect(calls[1]).toEqual({ method: 'token.get', params: { ...common, timeout: waits } });
});

/** A server of the older transport: a stream that names where messages go. It takes each token but the first. */
async function startEventServer() {
  const seen: string[] = [];
  const origin = await startLoopbackServer((request, response) => {
    const { method, url, headers } = request;
    seen.push(`${method} ${url} ${headers.authorization}`);
    request.resume();
    if (headers.authorization === 'Bearer secret-1') {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    } else if (method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: endpoint\ndata: /api/messages?session=1\n\n');
    } else {
      response.writeHead(202).end();
    }
  });
  return { seen, origin };
}

test.each([
  ['1', Sse1],
  ['2', Sse2],
])('authorizes stream and messages of the SSE transport, major version %s', async (_version, Transport) => {
  const { origin, seen } = await startEventServer();
  const resource = `${origin}/api`;
  const { connection } = await startBroker(resource);
  const transport = new Transport(new URL(resource), await transportOptions(connection, { resource }));
  onTestFinished(() => transport.close());
  await transport.start();
  await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  expect(seen).toEqual([
    'GET /api Bearer secret-1',
    'GET /api Bearer secret-2',
    'POST /api/messages?session=1 Bearer secret-2',
  ]);
});
