/** The bent server by itself: whatever a test tells it, it does, over a real connection. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { throwAwayCertificates } from '../../src/serve/certificate.ts';
import { trustingFetch, type TrustingFetch } from '../../src/serve/trusting-fetch.ts';
import {
  type BentServer,
  cutOff,
  endless,
  html,
  json,
  openBentServer,
  redirectTo,
  sharedCertificates,
  stalled,
} from '../support/bent/server.ts';

let server: BentServer;
let trusting: TrustingFetch;
beforeEach(async () => {
  server = await openBentServer({ plain: true });
  trusting = trustingFetch(server.ca);
});
afterEach(async () => {
  await trusting.close();
  await server.close();
});

const get = (path: string, init?: RequestInit) => trusting.fetch(server.origin + path, init);

describe('a route', () => {
  it('answers JSON, markup, bytes and a redirect', async () => {
    server.on('GET', '/json', json({ a: 1 }));
    server.on('GET', '/html', html('<h1>no</h1>'));
    server.on('GET', '/bytes', { status: 418, body: new Uint8Array([0xff, 0]) });
    server.on('GET', '/away', redirectTo('/json', 307));
    expect(await (await get('/json')).json()).toEqual({ a: 1 });
    expect((await get('/html')).headers.get('content-type')).toBe('text/html; charset=utf-8');
    const bytes = await get('/bytes');
    expect([bytes.status, ...(await bytes.bytes())]).toEqual([418, 0xff, 0]);
    const away = await get('/away', { redirect: 'manual' });
    expect([away.status, away.headers.get('location')]).toEqual([307, '/json']);
  });

  it('is 404 where there is none', async () => {
    expect((await get('/nothing')).status).toBe(404);
  });

  it('gives way to a newer one, and comes back when that is taken away', async () => {
    server.on('GET', '/x', json('old'));
    const remove = server.on('*', '*', json('new'));
    expect(await (await get('/x')).json()).toBe('new');
    remove();
    remove();
    expect(await (await get('/x')).json()).toBe('old');
  });

  it('that was told so answers so many requests and no more', async () => {
    server.on('GET', '/x', json({}));
    server.next('GET', '/x', { status: 503 }, 2);
    expect([await get('/x'), await get('/x'), await get('/x')].map(({ status }) => status)).toEqual([
      503, 503, 200,
    ]);
  });

  it('waits for what it is told to wait for', async () => {
    const gate = Promise.withResolvers<void>();
    server.on('GET', '/x', async () => {
      await gate.promise;
      return json({});
    });
    const waiting = get('/x');
    expect((await get('/y')).status).toBe(404);
    gate.resolve();
    expect((await waiting).status).toBe(200);
  });

  it('can send one header twice', async () => {
    server.on('GET', '/x', { status: 401, headers: { 'www-authenticate': ['Basic', 'Bearer scope="a"'] } });
    expect((await get('/x')).headers.get('www-authenticate')).toBe('Basic, Bearer scope="a"');
  });

  it('that throws makes closing fail', async () => {
    const other = await openBentServer({ plain: true });
    other.on('GET', '/x', () => {
      throw new Error('a mistake in a test');
    });
    expect((await trusting.fetch(`${other.origin}/x`)).status).toBe(500);
    await expect(other.close()).rejects.toThrow('a mistake in a test');
  });
});

describe('a bad server', () => {
  it.each([
    ['breaks the connection', 'destroy' as const],
    ['speaks no HTTP', { raw: 'SSH-2.0-OpenSSH\r\n' }],
  ])('%s', async (_what, answer) => {
    server.on('GET', '/x', answer);
    await expect(get('/x')).rejects.toThrow('fetch failed');
  });

  it('breaks off in the middle of a body', async () => {
    server.on('GET', '/x', cutOff('{"a":'));
    const response = await get('/x');
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow('terminated');
  });

  it('sends a body without end, to more than one reader', async () => {
    server.on('GET', '/x', endless());
    for (const reader of [await get('/x'), await get('/x')]) {
      let length = 0;
      for await (const chunk of reader.body ?? []) {
        length += chunk.length;
        if (length > 1_000_000) break;
      }
      expect(length).toBeGreaterThan(1_000_000);
    }
  });

  it.each([
    ['says nothing at all', 'hang' as const],
    ['stops in the middle', stalled()],
  ])('%s, until the client or the server ends it', async (_what, answer) => {
    const arrived = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    server.on('GET', '/x', () => {
      arrived[server.requests.length === 1 ? 0 : 1].resolve();
      return answer;
    });
    const stop = new AbortController();
    const waiting = get('/x', { signal: stop.signal }).then((response) => response.text());
    await arrived[0].promise;
    stop.abort();
    await expect(waiting).rejects.toThrow('abort');
    const left = get('/x').then((response) => response.text());
    const ended = expect(left).rejects.toThrow();
    await arrived[1].promise;
    await server.close();
    await ended;
  });
});

describe('what arrived', () => {
  it('is recorded with its query, headers, form and JSON', async () => {
    await get('/a?x=1&x=2', { headers: { 'x-y': 'z' } });
    await get('/form', { method: 'POST', body: new URLSearchParams({ code: 'a b' }) });
    await get('/json', { method: 'POST', body: '{"b":[1]}' });
    const [query, form, body] = server.requests;
    expect(query).toMatchObject({ method: 'GET', path: '/a', headers: { 'x-y': 'z' }, json: undefined });
    expect(query?.query.getAll('x')).toEqual(['1', '2']);
    expect(form?.form.get('code')).toBe('a b');
    expect(body?.json).toEqual({ b: [1] });
    expect(server.asked('/form', 'POST')).toEqual([form]);
    expect(server.asked('/form', 'GET')).toEqual([]);
  });

  it('can be searched for a text that should be nowhere', async () => {
    await get('/in-path?q=in+query', { headers: { authorization: 'Bearer in-header' } });
    await get('/x', { method: 'POST', body: new URLSearchParams({ a: 'in form/body' }) });
    for (const text of ['in-path', 'in query', 'in-header', 'in form/body']) {
      expect(server.holding(text), text).toHaveLength(1);
    }
    expect(server.holding('nowhere')).toEqual([]);
  });
});

describe('the listeners', () => {
  it('share routes between https and http', async () => {
    server.on('GET', '/x', ({ url }) => json(url.protocol));
    expect(await (await fetch(`${server.plainOrigin}/x`)).json()).toBe('http:');
    expect(await (await get('/x')).json()).toBe('https:');
    expect(server.base).toBe(server.plainOrigin);
  });

  it('share one authority in a process, unless told otherwise', async () => {
    const certificates = await throwAwayCertificates();
    const stranger = await openBentServer({ certificates });
    expect(server.ca).toBe((await sharedCertificates()).ca);
    await expect(trusting.fetch(stranger.origin)).rejects.toThrow('fetch failed');
    await stranger.close();
  });

  it('are on 127.0.0.1 only, and gone after closing', async () => {
    const ports = [server.origin, server.plainOrigin ?? ''].map((origin) => Number(new URL(origin).port));
    await server.close();
    for (const port of ports) {
      const socket = connect(port, '127.0.0.1');
      await expect(once(socket, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    }
  });
});
