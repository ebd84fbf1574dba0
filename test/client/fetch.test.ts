/** The fetch that authorizes itself, against real HTTP servers and a real broker socket. */
import { once } from 'node:events';
import http from 'node:http';

import { describe, expect, onTestFinished, test } from 'vitest';

import { connect } from '../../src/client/connect.ts';
import { endpointUrl, isWithin } from '../../src/client/endpoint-url.ts';
import { createFetch, type FetchOptions } from '../../src/client/fetch.ts';
import { startRig } from '../ipc/rig.ts';

interface Seen {
  readonly request: string;
  readonly authorization: string | undefined;
  readonly body: string;
  readonly type: string | undefined;
}

type Reply = readonly [status: number, headers?: Record<string, string>];

/** A server on this machine that notes what came and answers as told; 200 by default. */
async function startHttp(answer: (seen: Seen, count: number) => Reply = () => [200]) {
  const seen: Seen[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      const { authorization, 'content-type': type } = request.headers;
      const entry = { request: `${request.method} ${request.url}`, authorization, body, type };
      seen.push(entry);
      const [status, headers] = answer(entry, seen.length);
      response.writeHead(status, headers).end('answer');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { seen, origin: `http://127.0.0.1:${port}` };
}

interface Call {
  readonly method: string;
  readonly params: unknown;
}

/** A fetch for `<origin>/api`, and what it asked of the broker. Tokens: t1, then a new one a refusal. */
async function startFetch(
  origin: string,
  options: Partial<FetchOptions> = {},
  tokens?: readonly object[],
  verdict: object = { rejected: true },
) {
  const calls: Call[] = [];
  let current = 1;
  const resource = `${origin}/api`;
  const token = () => ({
    access_token: `secret-${current}`,
    token_type: 'Bearer',
    expires_at: 1_800_000_000,
    expires_in: 3600,
    scope: 'read',
    resource,
    account: '',
    issuer: 'https://login.example',
    tokenId: `t${current}`,
    ...tokens?.[current - 1],
  });
  const rig = await startRig({
    dispatch: async (_caller, method, params) => {
      calls.push({ method, params });
      if (method === 'token.reject') {
        current += 1;
        return verdict;
      }
      const stepUp = typeof params === 'object' && params && 'challenge' in params && params.challenge;
      if (stepUp && typeof stepUp === 'object' && 'status' in stepUp && stepUp.status === 403) current += 1;
      return token();
    },
  });
  const connection = await connect({ key: rig.enrol(), paths: rig.paths });
  onTestFinished(() => connection.close());
  return { calls, resource, authorized: createFetch(connection, { resource, ...options }) };
}

const bearers = (seen: readonly Seen[]) => seen.map((each) => each.authorization);
const methodsOf = (calls: readonly Call[]) => calls.map((call) => call.method);
const insufficient = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="read write"' };

describe('the token', () => {
  test('travels in the header, to the endpoint and below it', async () => {
    const { origin, seen } = await startHttp();
    const { authorized, resource } = await startFetch(origin);
    for (const url of [resource, `${resource}/`, `${resource}/a/b?c=d`, `${resource}?c=d`]) {
      expect((await authorized(url)).status).toBe(200);
    }
    expect(bearers(seen)).toEqual(Array(4).fill('Bearer secret-1'));
    expect(seen.map((each) => each.request).join()).not.toContain('secret');
  });

  test('does not leave the path of the endpoint', async () => {
    const { origin, seen } = await startHttp();
    const { authorized, resource, calls } = await startFetch(origin);
    const outside = ['', '/', '/apis', '/ap', '/other', '/API', '/api/../other', '/api/%2e%2e/other'];
    const tricky = ['/api/..%2fother', '/api/x%5c..%5c..%5cother', '/api/%ff'];
    for (const path of [...outside, ...tricky]) await authorized(`${origin}${path}`);
    expect(bearers(seen)).toEqual(Array(outside.length + tricky.length).fill(undefined));
    expect(calls).toEqual([]);
    await authorized(`${resource}/a%2Fb`);
    expect(bearers(seen).at(-1)).toBe('Bearer secret-1');
  });

  test('does not leave the origin of the endpoint', async () => {
    const { origin } = await startHttp();
    const other = await startHttp();
    const { authorized } = await startFetch(origin);
    await authorized(`${other.origin}/api`);
    await authorized(`${other.origin.replace('127.0.0.1', 'localhost')}/api`).catch(() => {});
    expect(new Set(bearers(other.seen))).toEqual(new Set([undefined]));
  });

  test('replaces what the caller put in its place, and only there', async () => {
    const { origin, seen } = await startHttp();
    const { authorized, resource } = await startFetch(origin);
    const headers = { authorization: 'Bearer old', 'content-type': 'text/x' };
    await authorized(resource, { method: 'POST', body: 'b', headers });
    await authorized(new Request(resource, { method: 'PUT', body: 'c', headers }));
    await authorized(`${origin}/other`, { headers });
    expect(bearers(seen)).toEqual(['Bearer secret-1', 'Bearer secret-1', 'Bearer old']);
    expect(seen.map((each) => [each.body, each.type]).slice(0, 2)).toEqual([
      ['b', 'text/x'],
      ['c', 'text/x'],
    ]);
  });

  test('is refused when it is of another type', async () => {
    const { origin, seen } = await startHttp();
    const { authorized, resource } = await startFetch(origin, {}, [{ token_type: 'DPoP' }]);
    await expect(authorized(resource)).rejects.toMatchObject({ reason: 'token_invalid' });
    expect(seen).toEqual([]);
  });

  test.each([
    ['http://files.example/api', 'insecure_url'],
    ['http://127.0.0.1.example/api', 'insecure_url'],
    ['https://user:secret@files.example/', 'invalid_resource'],
    ['ftp://files.example/', 'invalid_resource'],
    ['/api', 'invalid_resource'],
  ])('is for no endpoint such as %s', async (resource, reason) => {
    const { origin } = await startHttp();
    await expect(startFetch(origin, { resource })).rejects.toMatchObject({ reason });
  });
});

describe('a redirect', () => {
  test('within the endpoint is followed with the token', async () => {
    const { origin, seen } = await startHttp(({ request }) =>
      request.endsWith('/old') ? [307, { location: '/api/new' }] : [200],
    );
    const { authorized, resource } = await startFetch(origin);
    expect((await authorized(`${resource}/old`, { method: 'POST', body: 'b' })).status).toBe(200);
    expect(seen.map((each) => [each.request, each.body, each.authorization])).toEqual([
      ['POST /api/old', 'b', 'Bearer secret-1'],
      ['POST /api/new', 'b', 'Bearer secret-1'],
    ]);
  });

  test('that answers a POST with 303 goes on as GET, and a challenge there does not post again', async () => {
    const { origin, seen } = await startHttp(({ request, authorization }) => {
      if (request.startsWith('POST')) return [303, { location: '/api/done' }];
      return authorization === 'Bearer secret-1' ? [401, { 'www-authenticate': 'Bearer' }] : [200];
    });
    const { authorized, resource } = await startFetch(origin);
    expect((await authorized(resource, { method: 'POST', body: 'b' })).status).toBe(200);
    expect(seen.map((each) => [each.request, each.body])).toEqual([
      ['POST /api', 'b'],
      ['GET /api/done', ''],
      ['GET /api/done', ''],
    ]);
    expect(seen[1]?.type).toBeUndefined();
  });

  test('to another origin, or out of the path, is not followed', async () => {
    const other = await startHttp();
    const places = [`${other.origin}/api`, '/other', '/apis', 'http://[broken'];
    const { origin, seen } = await startHttp((_seen, count) => [302, { location: places[count - 1] ?? '' }]);
    const { authorized, resource } = await startFetch(origin);
    for (const place of places) {
      const response = await authorized(resource);
      expect(response.status).toBe(302);
      expect(response.headers.get('location')).toBe(place);
    }
    expect(seen).toHaveLength(places.length);
    expect(other.seen).toEqual([]);
  });

  test('in a loop ends', async () => {
    const { origin, seen } = await startHttp(() => [302, { location: '/api' }]);
    const { authorized, resource } = await startFetch(origin);
    expect((await authorized(resource)).status).toBe(302);
    expect(seen).toHaveLength(6);
  });

  test('is the caller’s when it asked for that', async () => {
    const { origin, seen } = await startHttp(() => [302, { location: '/api/new' }]);
    const { authorized, resource } = await startFetch(origin);
    expect((await authorized(resource, { redirect: 'manual' })).status).toBe(302);
    await expect(authorized(resource, { redirect: 'error' })).rejects.toThrow(TypeError);
    expect(seen).toHaveLength(2);
  });
});

describe('a challenge', () => {
  test('of 401 has the token refused, and the request sent again with the next', async () => {
    const header = 'Bearer error="invalid_token", resource_metadata="https://a.example/x"';
    const { origin, seen } = await startHttp(({ authorization }) =>
      authorization === 'Bearer secret-1' ? [401, { 'www-authenticate': header }] : [200],
    );
    const { authorized, calls, resource } = await startFetch(origin, { interaction: 'allow', scope: 'read' });
    const response = await authorized(resource, { method: 'POST', body: new URLSearchParams({ a: 'b' }) });
    expect(await response.text()).toBe('answer');
    expect(seen.map((each) => [each.body, each.authorization])).toEqual([
      ['a=b', 'Bearer secret-1'],
      ['a=b', 'Bearer secret-2'],
    ]);
    const challenge = { status: 401, wwwAuthenticate: header };
    const common = { resource, scope: 'read', interaction: 'allow' };
    expect(calls).toEqual([
      { method: 'token.get', params: common },
      {
        method: 'token.reject',
        params: { tokenId: 't1', status: 401, challenge, operation: 'POST /api', worked: false },
      },
      { method: 'token.get', params: { ...common, challenge, operation: 'POST /api' } },
    ]);
  });

  test('of 401 to a token that worked before says so', async () => {
    const { origin } = await startHttp((_seen, count) => (count === 2 ? [401] : [200]));
    const { authorized, calls, resource } = await startFetch(origin);
    for (const path of ['', '/closed']) expect((await authorized(`${resource}${path}`)).status).toBe(200);
    expect(calls.find(({ method }) => method === 'token.reject')).toEqual({
      method: 'token.reject',
      params: {
        tokenId: 't1',
        status: 401,
        challenge: { status: 401 },
        operation: 'GET /api/closed',
        worked: true,
      },
    });
  });

  test('of 401 is left standing while the broker replaces no refused token', async () => {
    const { origin, seen } = await startHttp(() => [401]);
    const { authorized, calls, resource } = await startFetch(origin, {}, undefined, {
      rejected: false,
      retryAfter: 60,
    });
    expect((await authorized(resource)).status).toBe(401);
    expect(seen).toHaveLength(1);
    expect(methodsOf(calls)).toEqual(['token.get', 'token.reject']);
  });

  test('of 403 for want of scope asks for a wider token for this operation', async () => {
    const { origin, seen } = await startHttp((_seen, count) => (count === 1 ? [403, insufficient] : [200]));
    const { authorized, calls, resource } = await startFetch(origin);
    expect((await authorized(`${resource}/reports?secret=1`, { method: 'DELETE' })).status).toBe(200);
    expect(bearers(seen)).toEqual(['Bearer secret-1', 'Bearer secret-2']);
    expect(calls[1]).toEqual({
      method: 'token.get',
      params: {
        resource,
        challenge: { status: 403, wwwAuthenticate: insufficient['www-authenticate'] },
        operation: 'DELETE /api/reports',
      },
    });
  });

  const call = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

  test.each<[string, RequestInit, string]>([
    [
      'a tool',
      { body: call('tools/call', { name: 'search', arguments: { query: 'hush' } }) },
      'tools/call search',
    ],
    ['another tool', { body: call('tools/call', { name: 'send' }) }, 'tools/call send'],
    ['no tool', { body: call('tools/list', {}) }, 'tools/list'],
    [
      'a resource, without its query',
      { body: call('resources/read', { uri: 'https://notes.example/a?key=hush' }) },
      'resources/read https://notes.example/a',
    ],
    [
      'several messages',
      { body: `[${call('tools/call', { name: 'a' })},${call('tools/call', { name: 'b' })}]` },
      'tools/call a, tools/call b',
    ],
    [
      'what the headers of the newest revision say',
      {
        headers: { 'mcp-method': 'tools/call', 'mcp-name': 'search' },
        body: call('tools/call', { name: 'x' }),
      },
      'tools/call search',
    ],
    ['nothing of a body that is no message', { body: '{"method":7}' }, ''],
    ['nothing of a body that is no JSON', { body: 'method' }, ''],
    [
      'nothing of a body that is too long',
      { body: call('tools/call', { name: 'a', x: 'x'.repeat(300_000) }) },
      '',
    ],
    [
      'a long name, cut',
      { body: call('tools/call', { name: 'x'.repeat(5000) }) },
      `tools/call ${'x'.repeat(117)}`,
    ],
  ])('tells the broker which operation the message names: %s', async (_what, init, named) => {
    const { origin } = await startHttp((_seen, count) => (count % 2 === 1 ? [403, insufficient] : [200]));
    const { authorized, calls, resource } = await startFetch(origin);
    expect((await authorized(resource, { method: 'POST', ...init })).status).toBe(200);
    expect(calls[1]?.params).toMatchObject({ operation: `POST /api ${named}`.trim() });
  });

  test('names an operation whose path is as long as a URL may be', async () => {
    const { origin } = await startHttp((_seen, count) => (count === 1 ? [403, insufficient] : [200]));
    const { authorized, calls, resource } = await startFetch(origin);
    const init = { method: 'POST', body: call('tools/call', { name: 'search' }) };
    await authorized(`${resource}/${'x'.repeat(5000)}`, init);
    expect(calls[1]?.params).toMatchObject({
      operation: expect.stringMatching(/^POST \/api\/x+ tools\/call search$/),
    });
  });

  test.each<[string, Reply]>([
    ['a 403 without a challenge', [403]],
    ['a 403 for another reason', [403, { 'www-authenticate': 'Bearer error="access_denied"' }]],
    ['a 400', [400, { 'www-authenticate': 'Bearer error="invalid_request"' }]],
    ['a 400 that speaks of scope', [400, insufficient]],
    ['a 500', [500, { 'www-authenticate': 'Bearer' }]],
  ])('is not seen in %s', async (_name, reply) => {
    const { origin, seen } = await startHttp(() => reply);
    const { authorized, calls, resource } = await startFetch(origin);
    expect((await authorized(resource)).status).toBe(reply[0]);
    expect(seen).toHaveLength(1);
    expect(methodsOf(calls)).toEqual(['token.get']);
  });

  test.each([
    [undefined, 3],
    [1, 1],
    [2, 2],
    [1000, 5],
  ])('is answered a bounded number of times (maxAttempts %s: %i)', async (maxAttempts, sent) => {
    const { origin, seen } = await startHttp(() => [401, { 'www-authenticate': 'Bearer' }]);
    const { authorized, resource } = await startFetch(origin, maxAttempts ? { maxAttempts } : {});
    expect((await authorized(resource)).status).toBe(401);
    expect(seen).toHaveLength(sent);
  });

  test('is left standing when the broker has no other token', async () => {
    const { origin, seen } = await startHttp(() => [401]);
    const { authorized, resource } = await startFetch(origin, {}, [{}, { tokenId: 't1' }]);
    expect((await authorized(resource)).status).toBe(401);
    expect(seen).toHaveLength(1);
  });
});

test('a body that is a stream is refused before anything is sent', async () => {
  const { origin, seen } = await startHttp();
  const { authorized, calls, resource } = await startFetch(origin);
  const body = new Blob(['x']).stream();
  await expect(authorized(resource, { method: 'POST', body, duplex: 'half' })).rejects.toMatchObject({
    reason: 'invalid_request',
  });
  expect([seen, calls]).toEqual([[], []]);
});

test('an aborted request rejects as fetch does', async () => {
  const { origin } = await startHttp();
  const { authorized, resource } = await startFetch(origin);
  await expect(authorized(resource, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: 'AbortError',
  });
});

test('an endpoint at the root covers its origin', () => {
  const root = endpointUrl('https://files.example');
  expect(isWithin(root, new URL('https://files.example/any/path'))).toBe(true);
  expect(isWithin(root, new URL('https://files.example:444/'))).toBe(false);
  expect(isWithin(root, new URL('https://files.example.evil/'))).toBe(false);
  const folder = endpointUrl('https://files.example/a/');
  expect(isWithin(folder, new URL('https://files.example/a/b'))).toBe(true);
  expect(isWithin(folder, new URL('https://files.example/a'))).toBe(false);
});
