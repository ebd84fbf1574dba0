/** The fetch that authorizes itself: where the token goes, and where it does not. */
import { describe, expect, test } from 'vitest';
import { endpointUrl, isWithin } from '../../src/client/endpoint-url.ts';
import { startHttp, fetchAt, startFetch, bearers, methodsOf } from './fetch-rig.ts';

describe('the token', () => {
  test('A-1: travels in the header, to the endpoint and below it', async () => {
    const { seen, authorized, resource } = await fetchAt();
    for (const url of [resource, `${resource}/`, `${resource}/a/b?c=d`, `${resource}?c=d`]) {
      expect((await authorized(url)).status).toBe(200);
    }
    expect(bearers(seen)).toEqual(Array(4).fill('Bearer secret-1'));
    expect(seen.map((each) => each.request).join()).not.toContain('secret');
  });

  test('does not leave the path of the endpoint', async () => {
    const { origin, seen, authorized, resource, calls } = await fetchAt();
    const outside = ['', '/', '/apis', '/ap', '/other', '/API', '/api/../other', '/api/%2e%2e/other'];
    const tricky = ['/api/..%2fother', '/api/x%5c..%5c..%5cother', '/api/%ff'];
    for (const path of [...outside, ...tricky]) await authorized(`${origin}${path}`);
    expect(bearers(seen)).toEqual(Array(outside.length + tricky.length).fill(undefined));
    expect(calls).toEqual([]);
    await authorized(`${resource}/a%2Fb`);
    expect(bearers(seen).at(-1)).toBe('Bearer secret-1');
  });

  test('goes to one named URL of the origin besides, and to no other, there or elsewhere', async () => {
    const { origin, seen } = await startHttp();
    const other = await startHttp();
    let named = `${origin}/messages?id=1`;
    const { authorized } = await startFetch(origin, { alsoAt: () => named });
    for (const path of ['/messages?id=1', '/messages?id=2', '/messages', '/messages/more'])
      await authorized(`${origin}${path}`);
    expect(bearers(seen)).toEqual(['Bearer secret-1', undefined, undefined, undefined]);
    named = `${other.origin}/messages`;
    await authorized(named);
    expect(bearers(other.seen)).toEqual([undefined]);
  });

  test('no API key goes to a URL outside its path, and none counts as refused', async () => {
    const { origin } = await startHttp(() => [401]);
    const named = `${origin}/messages?id=1`;
    const key = { kind: 'apiKey', apiKeyId: 'k1', header: 'x-key', value: 'key', resource: `${origin}/api` };
    const options = { kinds: ['token', 'apiKey'], alsoAt: () => named } as const;
    const { authorized, calls } = await startFetch(origin, options, { tokens: [key] });
    await expect(authorized(named)).rejects.toMatchObject({ reason: 'resource_mismatch' });
    expect(methodsOf(calls)).toEqual(['token.get']);
    await expect(authorized(`${origin}/api`)).rejects.toMatchObject({ reason: 'api_key_rejected' });
    expect(methodsOf(calls)).toContain('token.reject');
  });

  test('A-5: does not leave the origin of the endpoint', async () => {
    const { origin } = await startHttp();
    const other = await startHttp();
    const { authorized } = await startFetch(origin);
    await authorized(`${other.origin}/api`);
    await authorized(`${other.origin.replace('127.0.0.1', 'localhost')}/api`).catch(() => {});
    expect(new Set(bearers(other.seen))).toEqual(new Set([undefined]));
  });

  test('replaces what the caller put in its place, and only there', async () => {
    const { origin, seen, authorized, resource } = await fetchAt();
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
    const { seen, authorized, resource } = await fetchAt(undefined, {}, { tokens: [{ token_type: 'mac' }] });
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
    const { seen, authorized, resource } = await fetchAt(({ request }) =>
      request.endsWith('/old') ? [307, { location: '/api/new' }] : [200],
    );
    expect((await authorized(`${resource}/old`, { method: 'POST', body: 'b' })).status).toBe(200);
    expect(seen.map((each) => [each.request, each.body, each.authorization])).toEqual([
      ['POST /api/old', 'b', 'Bearer secret-1'],
      ['POST /api/new', 'b', 'Bearer secret-1'],
    ]);
  });

  test('that answers a POST with 303 continues as GET', async () => {
    const { seen, authorized, resource } = await fetchAt(({ request, authorization }) => {
      if (request.startsWith('POST')) return [303, { location: '/api/done' }];
      return authorization === 'Bearer secret-1' ? [401, { 'www-authenticate': 'Bearer' }] : [200];
    });
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
    const { seen, authorized, resource } = await fetchAt((_seen, count) => [
      302,
      { location: places[count - 1] ?? '' },
    ]);
    for (const place of places) {
      const response = await authorized(resource);
      expect(response.status).toBe(302);
      expect(response.headers.get('location')).toBe(place);
    }
    expect(seen).toHaveLength(places.length);
    expect(other.seen).toEqual([]);
  });

  test('to http at the same host is followed over https', async () => {
    const asked: string[] = [];
    const fetch = async (url: unknown): Promise<Response> => {
      asked.push(String(url));
      const headers = { location: 'http://server.example/api/' };
      return asked.length > 1 ? new Response('answer') : new Response('', { status: 307, headers });
    };
    const { authorized, resource } = await startFetch('https://server.example', { fetch });
    expect((await authorized(resource)).status).toBe(200);
    expect(asked).toEqual([resource, `${resource}/`]);
  });

  test('in a loop ends', async () => {
    const { seen, authorized, resource } = await fetchAt(() => [302, { location: '/api' }]);
    expect((await authorized(resource)).status).toBe(302);
    expect(seen).toHaveLength(6);
  });

  test('is the caller’s when it asked for that', async () => {
    const { seen, authorized, resource } = await fetchAt(() => [302, { location: '/api/new' }]);
    expect((await authorized(resource, { redirect: 'manual' })).status).toBe(302);
    await expect(authorized(resource, { redirect: 'error' })).rejects.toThrow(TypeError);
    expect(seen).toHaveLength(2);
  });
});

test('a body that is a stream is refused before anything is sent', async () => {
  const { seen, authorized, calls, resource } = await fetchAt();
  const body = new Blob(['x']).stream();
  await expect(authorized(resource, { method: 'POST', body, duplex: 'half' })).rejects.toMatchObject({
    reason: 'invalid_request',
  });
  expect([seen, calls]).toEqual([[], []]);
});

test('an aborted request rejects as fetch does', async () => {
  const { authorized, resource } = await fetchAt();
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
  // Without its slash it is the same canonical resource.
  expect(isWithin(folder, new URL('https://files.example/a'))).toBe(true);
  expect(isWithin(folder, new URL('https://files.example/ab'))).toBe(false);
});
