/** The protected server on real sockets: Node's http, Express, and the protocol's SDK behind each of them. */
import { createServer, request as httpRequest, type RequestListener } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import express from 'express';
import { describe, expect, it, vi } from 'vitest';
import { accessOf, metadata, protect } from '../../src/server/express.ts';
import { jwt, protectedServer, type ProtectedServer, type ServerEvent } from '../../src/server/index.ts';
import { fetchListener, nodeListener } from '../../src/server/node.ts';
import { quietly } from '../../src/server/resource/base/option.ts';
import { portOf } from '../support/servers/loopback-server.ts';
import { Issuer, issuer, newKey, start, tokenOf } from './parties.ts';

const key = await newKey();

/** Listens on a free port of this machine. */
async function listen(make: (server: ProtectedServer) => RequestListener, more: object = {}) {
  const http = createServer();
  const resource = `http://127.0.0.1:${await portOf(http)}/mcp`;
  const events: ServerEvent[] = [];
  const server = protectedServer({
    resource,
    authorizationServers: [issuer],
    tokens: jwt(),
    scopes: { required: ['notes:read'] },
    operations: { tools: { 'add-note': ['notes:write'] } },
    routes: [{ path: '/mcp/admin', scopes: ['notes:admin'] }],
    fetch: new Issuer(key).fetch,
    now: () => start,
    onEvent: (event) => events.push(event),
    ...more,
  });
  http.on('request', make(server));
  return { resource, server, events, token: (changes = {}) => tokenOf(key, { aud: resource, ...changes }) };
}

const seen = (headers: object): string[] => Object.keys(headers).map((name) => name.toLowerCase());

/** What each kind of server does with the same handler: it answers with all that it knows of the request. */
const kinds: readonly (readonly [string, (server: ProtectedServer) => RequestListener])[] = [
  [
    'a Fetch handler',
    (server) =>
      fetchListener(server, async (request, { subject, body }) =>
        Response.json({ subject, body, text: await request.text(), headers: [...request.headers.keys()] }),
      ),
  ],
  [
    'a handler of Node',
    (server) =>
      nodeListener(server, (request, response, { subject, body }) => {
        const all = [...seen(request.headers), ...seen(request.headersDistinct), ...seen(request.rawHeaders)];
        const raw = request.rawHeaders.map((text) => text.toLowerCase());
        response.end(JSON.stringify({ subject, body, headers: [...all, ...raw] }));
      }),
  ],
  [
    'Express',
    (server) => {
      const app = express();
      app.use(metadata(server));
      app.use('/mcp', protect(server), express.json());
      app.use('/mcp', (request, response) => {
        const { subject } = accessOf(request);
        response.json({
          subject,
          body: request.body as unknown,
          headers: [...seen(request.headers), ...request.rawHeaders],
        });
      });
      return app;
    },
  ],
];

/** Sends the target as it stands; `fetch` would send its normal form. */
async function statusOfTarget(
  resource: string,
  target: string,
  token: string,
  {
    body,
    headers,
  }: { body?: string | undefined; headers?: Readonly<Record<string, string | string[]>> } = {},
): Promise<number | undefined> {
  const { hostname, port } = new URL(resource);
  return new Promise((resolve, reject) => {
    const sent = httpRequest({
      hostname,
      port,
      path: target,
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    sent.once('response', (answer) => resolve(answer.resume().statusCode));
    sent.once('error', reject);
    sent.end(body);
  });
}

const addNote = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'add-note' } };

describe.each(kinds)('%s', (_kind, make) => {
  const post = (url: string, token: string | undefined, message: unknown = { method: 'ping' }) =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(message),
    });

  it('RS-15: serves metadata, refuses, and passes checked requests on without token', async () => {
    const { resource, server, token } = await listen(make);
    expect(await (await fetch(server.metadataUrl)).json()).toMatchObject({ resource });
    const refused = await post(resource, undefined);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining(`resource_metadata="${server.metadataUrl}"`),
    ]);
    expect((await post(resource, await token(), addNote)).status).toBe(403);
    const own = await token({ scope: 'notes:read notes:write' });
    const passed = await post(resource, own, addNote);
    expect([passed.status, passed.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const text = await passed.text();
    expect(JSON.parse(text)).toMatchObject({ subject: 'alice', body: addNote });
    expect(text).not.toMatch(/authorization|eyJ/i);
  });

  it('RS-12: sees a second Authorization header, which Node itself drops', async () => {
    const { resource, token } = await listen(make);
    const own = `Bearer ${await token()}`;
    const headers = { authorization: [own, own] };
    expect(await statusOfTarget(resource, '/mcp', '', { headers })).toBe(400);
  });

  it('RS-18: answers nothing outside its path, in any spelling', async () => {
    const { resource, token } = await listen(make);
    const own = await token();
    const { origin } = new URL(resource);
    for (const path of ['/MCP', '/%6dcp', '/other']) {
      expect((await post(origin + path, own)).status, path).toBe(404);
    }
  });

  it('RS-19: refuses a target that its handler may read as another path', async () => {
    const { resource, token } = await listen(make);
    const { origin } = new URL(resource);
    const statusOf = async (target: string) => statusOfTarget(resource, target, await token());
    for (const target of [
      '/mcp/admin/../x',
      '/mcp/x/..%2fadmin',
      '/mcp/x/..;/admin',
      '/mcp/x/%252e%252e/admin',
      '/mcp/x%5c..%5cadmin',
      String.raw`/mcp/admin\..\x`,
      '/mcp/..%2fother',
      '//mcp',
      '/mcp#/admin',
      String.raw`http://evil.example\mcp`,
      '/mcp/%61dmin/%zz',
    ]) {
      // Express itself answers what isn't below the path at which the checks stand.
      expect([400, 404], target).toContain(await statusOf(target));
    }
    for (const target of [
      '/mcp/',
      '/mcp/.x/a.b/..c',
      '/mcp/%C3%A9%20a%2Fb',
      `${origin}/mcp`,
      'HTTP://evil.example/mcp/x?y',
    ]) {
      expect(await statusOf(target), target).toBe(200);
    }
    for (const target of ['/mcp/admin', '/mcp/%61dmin/x', '/mcp//ADMIN', `${origin}/mcp/admin`]) {
      expect(await statusOf(target), target).toBe(403);
    }
  });

  it('RS-20: asks the scopes of a message in the body of GET', async () => {
    const { resource, token } = await listen(make);
    const statusOf = async (body: string | undefined, headers: Readonly<Record<string, string>> = {}) => {
      const more = { 'content-type': 'application/json', ...headers };
      return statusOfTarget(resource, '/mcp', await token(), { body, headers: more });
    };
    const call = JSON.stringify(addNote);
    expect(await statusOf(call, { 'content-length': String(call.length) })).toBe(403);
    expect(await statusOf(call, { 'transfer-encoding': 'chunked' })).toBe(403);
    expect(await statusOf('{}', { 'content-length': '2' })).toBe(400);
    expect(await statusOf(undefined, { 'content-length': '0' })).toBe(200);
    expect(await statusOf(undefined, { 'transfer-encoding': 'chunked' })).toBe(200);
    expect(await statusOf(undefined)).toBe(200);
  });
});

it('streams an answer, and ends it in the handler when the client leaves', async () => {
  const ended = Promise.withResolvers<void>();
  const { resource, token } = await listen((server) =>
    fetchListener(server, (request) => {
      request.signal.addEventListener('abort', () => ended.resolve());
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\n')),
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    }),
  );
  const answer = await fetch(resource, { headers: { authorization: `Bearer ${await token()}` } });
  const reader = answer.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 1\n\n');
  await reader?.cancel();
  await ended.promise;
});

const fault = () => {
  throw new Error('no base for Bearer abc');
};

it.each<[string, number, (server: ProtectedServer) => RequestListener]>([
  ['a Fetch handler', 500, (server) => fetchListener(server, fault)],
  ['a handler of Node', 500, (server) => nodeListener(server, async () => Promise.resolve().then(fault))],
  [
    'a stream',
    200,
    (server) => fetchListener(server, () => new Response(new ReadableStream({ pull: fault }))),
  ],
])('what %s throws is told to the operator, and not to the client', async (_what, status, make) => {
  const { resource, token, events } = await listen(make);
  const answer = await fetch(resource, { headers: { authorization: `Bearer ${await token()}` } });
  expect([answer.status, await answer.text().catch(() => '')]).toEqual([status, '']);
  const problem = expect.stringMatching(/^Error: "no base for Bearer …" at .*adapters\.test/) as string;
  expect(events.at(-1)).toEqual({ kind: 'failed', at: start, method: 'GET', path: '/mcp', problem });
});

it('a fault is printed if nobody listens for events', () => {
  const printed = vi.spyOn(process, 'emitWarning').mockReturnValueOnce(undefined);
  for (const kind of ['failed', 'refused']) quietly(undefined)({ kind, problem: `${kind}: no base` });
  expect(printed.mock.calls).toEqual([['failed: no base', '@keyturn/server']]);
});

it.each([
  ['application/json', '{"a":[1]}'],
  ['application/x-www-form-urlencoded', 'a=1&a=2'],
  ['application/x-www-form-urlencoded', 'a[b]=1', 'nothing usable'],
])('a Fetch handler behind parsers gets %s %s, or a fault', async (type, body, problem?: string) => {
  const parsers = [express.json(), express.urlencoded({ extended: true })];
  const { resource, token, events } = await listen(
    (server) =>
      express().use(
        ...parsers,
        fetchListener(server, async (asked) => new Response(await asked.text())),
      ),
    { operations: undefined },
  );
  const headers = { authorization: `Bearer ${await token()}`, 'content-type': type };
  expect(await (await fetch(resource, { method: 'POST', headers, body })).text()).toBe(problem ? '' : body);
  expect(events.at(-1)?.problem ?? '').toContain(problem ?? '');
});

const sdks: readonly (readonly [string, (server: ProtectedServer) => RequestListener])[] = [
  [
    '1',
    (server) =>
      nodeListener(server, async (request, response, { authInfo, body }) => {
        const notes = new McpServer1({ name: 'notes', version: '1.0.0' });
        notes.registerTool('who', {}, (extra) => answerOf(extra.authInfo));
        const transport = new StreamableHTTPServerTransport({});
        await notes.connect(transport);
        await transport.handleRequest(Object.assign(request, { auth: authInfo }), response, body);
      }),
  ],
  [
    '2',
    (server) => {
      const mcp = createMcpHandler(() => {
        const notes = new McpServer({ name: 'notes', version: '1.0.0' });
        notes.registerTool('who', {}, ({ http }) => answerOf(http?.authInfo));
        return notes;
      });
      return fetchListener(server, (request, { authInfo, body }) =>
        mcp.fetch(request, { authInfo, parsedBody: body }),
      );
    },
  ],
];

const answerOf = (auth?: { readonly token: string; readonly extra?: Record<string, unknown> }) => ({
  content: [{ type: 'text' as const, text: `${String(auth?.extra?.['sub'])} ${auth?.token}` }],
});

it.each(sdks)(
  'RS-18: version %s of the SDK runs behind it, and its tools know who asks',
  async (_version, behind) => {
    const { resource, token } = await listen(behind);
    const own = await token();
    const client = new Client({ name: 'test', version: '1.0.0' });
    const transport = new StreamableHTTPClientTransport(new URL(resource), {
      requestInit: { headers: { authorization: `Bearer ${own}` } },
    });
    await client.connect(transport);
    expect(await client.callTool({ name: 'who' })).toMatchObject({ content: [{ text: 'alice ' }] });
    await client.close();
  },
);

it.each<[string, (server: ProtectedServer) => unknown]>([
  ['metadata', metadata],
  ['protect', protect],
  ['fetchListener', (server) => fetchListener(server, () => new Response())],
  ['nodeListener', (server) => nodeListener(server, () => undefined)],
])('%s refuses a Promise of a server at once', (name, make) => {
  const forgotten: unknown = Promise.resolve();
  expect(() => make(forgotten as ProtectedServer)).toThrow(
    `server of ${name} can't be used: it is a Promise: write await`,
  );
});
