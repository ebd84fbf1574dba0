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
});

it('issuers write the slash that URL parsers add to a resource without a path', async () => {
  const { send } = await listen(() => ({ resource: 'https://notes.example' }));
  const headers = { 'x-forwarded-proto': 'https' };
  for (const aud of ['https://notes.example', 'https://notes.example/']) {
    expect((await send('/', await tokenOf(key, { aud }), headers)).status).toBe(200);
  }
});
