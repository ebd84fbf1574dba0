/** An MCP server on a real socket beside what real clients, proxies and issuers do, as public reports tell it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { jwt, protectedServer } from '../../../src/server/index.ts';
import type { ProtectedServerOptions } from '../../../src/server/index.ts';
import { fetchListener } from '../../../src/server/node.ts';
import { Issuer, issuer, type Key, newKey, start, tokenOf } from '../../server/parties.ts';

let key: Key;

beforeAll(async () => {
  key = await newKey('RS256');
});

type Headers = Readonly<Record<string, string>>;

async function listen(options: (origin: string) => Partial<ProtectedServerOptions> = () => ({})) {
  const http = createServer();
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const from = new Issuer(key);
  const guard = protectedServer({
    resource: `${origin}/mcp`,
    authorizationServers: [issuer],
    tokens: jwt(),
    scopes: { required: ['notes:read'] },
    trustedProxies: ['127.0.0.1'],
    fetch: from.fetch,
    now: () => start,
    ...options(origin),
  });
  http.on(
    'request',
    fetchListener(guard, (request, { subject }) => Response.json({ subject, method: request.method })),
  );
  const send = (path: string, token?: string, headers: Headers = {}, method = 'POST') =>
    fetch(origin + path, {
      method,
      headers: {
        accept: 'application/json, text/event-stream',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(method === 'POST' ? { body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' } : {}),
    });
  return { origin, from, resource: guard.resource, send };
}

describe('clients', () => {
  it.each<[string, string, string, Headers]>([
    ['post with a slash more', 'POST', '/mcp/', {}],
    ['post with a query', 'POST', '/mcp?session=1', {}],
    ['listen', 'GET', '/mcp', { accept: 'text/event-stream' }],
    ['end a session', 'DELETE', '/mcp', { 'mcp-session-id': 'x' }],
  ])('%s', async (_what, method, path, headers) => {
    const { send, resource } = await listen();
    expect((await send(path, await tokenOf(key, { aud: resource }), headers, method)).status).toBe(200);
  });

  it('write the scheme in lower case', async () => {
    const { send, resource } = await listen();
    const own = await tokenOf(key, { aud: resource });
    expect((await send('/mcp', undefined, { authorization: `bearer ${own}` })).status).toBe(200);
  });

  it('in a browser find out where to sign in', async () => {
    const { send } = await listen();
    const origin = { origin: 'http://localhost:6274' };
    const asked = { ...origin, 'access-control-request-method': 'POST' };
    expect((await send('/mcp', undefined, asked, 'OPTIONS')).status).toBe(204);
    const refused = await send('/mcp', undefined, origin);
    expect(refused.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
    const [, url = ''] =
      /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
    const metadata = await send(new URL(url).pathname, undefined, origin, 'GET');
    expect([metadata.status, metadata.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
  });
});

describe('proxies', () => {
  const resource = 'https://notes.example/mcp';

  it.each<[string, Headers, number]>([
    ['end TLS', { 'x-forwarded-proto': 'https' }, 200],
    ['end TLS two in a row', { 'x-forwarded-proto': 'https,http' }, 200],
    ['speak RFC 7239', { forwarded: 'for=192.0.2.7;proto=https' }, 200],
    ['speak RFC 7239 of a client with odd names', { forwarded: 'for="a;proto=http,b" ; proto="https"' }, 200],
    ['pass plain http on', { 'x-forwarded-proto': 'http' }, 400],
  ])('%s', async (_what, headers, status) => {
    const { send } = await listen(() => ({ resource }));
    expect((await send('/mcp', await tokenOf(key), headers)).status).toBe(status);
  });

  it('name a host that the metadata doesn’t follow', async () => {
    const { send, origin } = await listen();
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' };
    const challenge = (await send('/mcp', undefined, headers)).headers.get('www-authenticate');
    expect(challenge).toContain(`resource_metadata="${origin}/`);
  });
});

describe('issuers', () => {
  it('write the slash that URL parsers add to a resource without a path', async () => {
    const { send } = await listen(() => ({ resource: 'https://notes.example' }));
    const headers = { 'x-forwarded-proto': 'https' };
    for (const aud of ['https://notes.example', 'https://notes.example/']) {
      expect((await send('/', await tokenOf(key, { aud }), headers)).status).toBe(200);
    }
  });

  it('go down: a first token has to wait, later ones are checked by the keys that are known', async () => {
    const { send, from, resource } = await listen();
    from.fault = 'down';
    const own = await tokenOf(key, { aud: resource });
    const early = await send('/mcp', own);
    expect([early.status, early.headers.has('retry-after')]).toEqual([503, true]);
    const known = await listen();
    const first = await tokenOf(key, { aud: known.resource });
    expect((await known.send('/mcp', first)).status).toBe(200);
    known.from.fault = 'down';
    const later = await tokenOf(key, { aud: known.resource, jti: 'later' });
    expect((await known.send('/mcp', later)).status).toBe(200);
  });
});
