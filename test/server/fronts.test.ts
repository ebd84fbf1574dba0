/** A protected server where people put it: below a prefix that nginx strips, on a Unix socket, in routers of Express and Hono. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import { type Context, Hono } from 'hono';
import { cloneRawRequest } from 'hono/request';
import { Agent, fetch } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { throwAwayCertificates } from '../../src/serve/certificate.ts';
import { metadata, protect as middleware } from '../../src/server/express.ts';
import { jwt, protect, protectedServer } from '../../src/server/index.ts';
import type { ProtectedServer, ProtectedServerOptions } from '../../src/server/index.ts';
import { fetchListener } from '../../src/server/node.ts';
import { freePort } from '../support/servers/port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Issuer, issuer, newKey, start, tokenOf } from './parties.ts';

const key = await newKey();

const guardOf = (resource: string, more: Partial<ProtectedServerOptions> = {}): ProtectedServer =>
  protectedServer({
    resource,
    authorizationServers: [issuer],
    tokens: jwt(),
    trustedProxies: ['127.0.0.1'],
    fetch: new Issuer(key).fetch,
    now: () => start,
    ...more,
  });

const plain = (guard: ProtectedServer): RequestListener =>
  fetchListener(guard, () => new Response('handled'));

/** The router that has the guard, mounted; `before` is a middleware of the application that may read the body. */
function hono(
  guard: ProtectedServer,
  mount: string,
  before: (c: Context) => unknown = () => undefined,
): RequestListener {
  const handle = protect(
    guard,
    (_request, { body }) => new Response(body ? JSON.stringify(body) : 'handled'),
  );
  const answer = async (c: Context) => handle(await cloneRawRequest(c.req), c.env);
  const app = new Hono().use(async (c, next) => {
    await before(c);
    await next();
  });
  app.get('/.well-known/*', answer);
  app.route(mount, new Hono().all('/mcp', answer));
  const listener = getRequestListener(app.fetch);
  return (request, response) => void listener(request, response);
}

async function listen(listener: RequestListener, at: number | string): Promise<void> {
  const http = createServer(listener);
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  http.listen(at);
  await once(http, 'listening');
}

const program = '/usr/sbin/nginx';

/** nginx with TLS at `/api/`, which it strips; answers its origin, and a fetch that trusts it. */
async function nginx(upstream: string): Promise<{ origin: string; send: typeof fetch }> {
  const folder = temporaryFolder();
  const port = await freePort();
  const { ca, cert, key: secret } = await throwAwayCertificates();
  const file = (name: string, text: string): string => {
    writeFileSync(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const configuration = `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
    events {}
    http { access_log off; ${places.join(' ')}
      server { listen 127.0.0.1:${port} ssl; ssl_certificate ${file('cert.pem', cert)}; ssl_certificate_key ${file('key.pem', secret)};
        proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        location /api/ { proxy_pass ${upstream}/; }
        location /.well-known/oauth-protected-resource/api/ { proxy_pass ${upstream}; } } }`;
  const child = spawn(program, ['-e', 'stderr', '-p', folder, '-c', file('nginx.conf', configuration)]);
  const dispatcher = new Agent({ connect: { ca } });
  onTestFinished(async () => {
    child.kill();
    await Promise.all([once(child, 'close'), dispatcher.close()]);
  });
  const origin = `https://127.0.0.1:${port}`;
  const send = async (url: Parameters<typeof fetch>[0], init: Parameters<typeof fetch>[1] = {}) =>
    fetch(url, { ...init, dispatcher });
  // It says nowhere that it listens.
  while (child.exitCode === null && !(await send(`${origin}/`).catch(() => undefined))) await setTimeout(20);
  return { origin, send };
}

describe.skipIf(!existsSync(program))('behind nginx, which ends TLS and strips a prefix', () => {
  it.each<[string, (guard: ProtectedServer) => RequestListener, boolean]>([
    ['plain Node', plain, false],
    ['plain Node on a Unix socket', plain, true],
    [
      'a router of Express',
      (guard) => {
        const router = express.Router();
        router.use('/mcp', middleware(guard), (_request, response) => void response.send('handled'));
        return express().use(metadata(guard)).use(router);
      },
      false,
    ],
    ['a router of Hono', (guard) => hono(guard, '/'), false],
  ])('%s is found and answers', async (_what, make, isUnix) => {
    const at = isUnix ? path.join(temporaryFolder(), 's') : await freePort();
    const { origin, send } = await nginx(isUnix ? `http://unix:${at}:` : `http://127.0.0.1:${at}`);
    const guard = guardOf(`${origin}/api/mcp`, { mountPath: '/mcp' });
    await listen(make(guard), at);
    const refused = await send(guard.resource, { method: 'POST', headers: { 'x-forwarded-proto': 'http' } });
    const [, place = ''] =
      /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
    expect([refused.status, await (await send(place)).json()]).toEqual([
      401,
      expect.objectContaining({ resource: guard.resource }),
    ]);
    const authorization = `Bearer ${await tokenOf(key, { aud: guard.resource })}`;
    const passed = await send(guard.resource, { method: 'POST', headers: { authorization } });
    expect([passed.status, await passed.text()]).toEqual([200, 'handled']);
  });
});

it.each<[string, (c: Context) => unknown]>([
  ['nothing', () => undefined],
  ['json', (c) => c.req.json()],
  ['arrayBuffer', (c) => c.req.arrayBuffer()],
])('below a prefix of Hono a body that %s read before it is checked and passed on', async (_what, before) => {
  const port = await freePort();
  const operations = { tools: { 'add-note': ['notes:write'] } };
  const guard = guardOf(`http://127.0.0.1:${port}/api/mcp`, { operations });
  await listen(
    hono(guard, '/api', (c) => c.req.method === 'POST' && before(c)),
    port,
  );
  expect(await (await fetch(guard.metadataUrl)).json()).toMatchObject({ resource: guard.resource });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'add-note' } });
  const call = async (scope: string) => {
    const authorization = `Bearer ${await tokenOf(key, { aud: guard.resource, scope })}`;
    const answer = await fetch(guard.resource, { method: 'POST', body, headers: { authorization } });
    return [answer.status, await answer.text()];
  };
  expect(await call('notes:read')).toEqual([403, expect.anything()]);
  expect(await call('notes:read notes:write')).toEqual([200, body]);
});

it.each<[string, unknown, number]>([
  ['an address', { address: '127.0.0.1' }, 200],
  ['what Deno passes', { remoteAddr: { transport: 'tcp', hostname: '127.0.0.1', port: 1 } }, 200],
  ['what Hono passes on Node', { incoming: { socket: { remoteAddress: '127.0.0.1' } } }, 200],
  ['an address that is no proxy of ours', { address: '192.0.2.7' }, 400],
  ['bindings of a worker', { KV: {}, requestIP: 'x', remoteAddr: null }, 400],
  ['nothing', undefined, 400],
])('a Fetch handler behind a proxy learns from %s who is connected', async (_what, connection, status) => {
  const handle = protect(guardOf('https://notes.example/mcp'), () => new Response());
  const headers = { authorization: `Bearer ${await tokenOf(key)}`, 'x-forwarded-proto': 'https' };
  const answer = await handle(new Request('http://10.0.0.1/mcp', { method: 'POST', headers }), connection);
  expect(answer.status).toBe(status);
});
