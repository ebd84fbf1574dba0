/** The fetch that authorizes itself: what it makes of a 401 or 403. */
import { describe, expect, test } from 'vitest';
import { type Reply, startHttp, startFetch, bearers, methodsOf, insufficient } from './fetch-rig.ts';

describe('a challenge', () => {
  test.each([
    [401, 'Bearer error="invalid_token", resource_metadata="https://a.example/x"'],
    [302, 'Cloudflare-Access resource_metadata="https://a.example/x"'],
  ])('with %i has the token refused, and the request sent again with the next', async (status, header) => {
    const headers = { location: '/sign-in', 'www-authenticate': header };
    const { origin, seen } = await startHttp(({ authorization }) =>
      authorization === 'Bearer secret-1' ? [status, headers] : [200],
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
    expect(calls.find(({ method }) => method === 'token.reject')?.params).toMatchObject({
      operation: 'GET /api/closed',
      worked: true,
    });
  });

  test('of 401 is left standing while the broker replaces no rejected token', async () => {
    const { origin, seen } = await startHttp(() => [401]);
    const verdict = { rejected: false, retryAfter: 60 };
    const { authorized, calls, resource } = await startFetch(origin, {}, { verdict });
    expect((await authorized(resource)).status).toBe(401);
    expect(seen).toHaveLength(1);
    expect(methodsOf(calls)).toEqual(['token.get', 'token.reject']);
  });

  test('U-3: of 403 for want of scope asks for a wider token for this operation', async () => {
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
  const tool = (name: string, more = {}) => call('tools/call', { name, ...more });
  const note = 'https://notes.example/a';
  const read = call('resources/read', { uri: `${note}?key=hush` });
  const headers = { 'mcp-method': 'tools/call', 'mcp-name': 'search' };

  test.each<[string, RequestInit, string]>([
    ['a tool', { body: tool('search', { arguments: { q: 'hush' } }) }, 'tools/call search'],
    ['a resource, without its query', { body: read }, `resources/read ${note}`],
    ['several messages', { body: `[${tool('a')},${tool('b')}]` }, 'tools/call a, tools/call b'],
    ['what the newest revision’s headers say', { headers, body: tool('x') }, 'tools/call search'],
    ['nothing of a body that is no message', { body: '{"method":7}' }, ''],
    ['nothing of a long body', { body: tool('a', { x: 'x'.repeat(300_000) }) }, ''],
    ['a long name', { body: tool('x'.repeat(5000)) }, `tools/call ${'x'.repeat(117)}`],
  ])('U-3: tells the broker which operation the message names: %s', async (_what, init, named) => {
    const { origin } = await startHttp((_seen, count) => (count % 2 === 1 ? [403, insufficient] : [200]));
    const { authorized, calls, resource } = await startFetch(origin);
    expect((await authorized(resource, { method: 'POST', ...init })).status).toBe(200);
    expect(calls[1]?.params).toMatchObject({ operation: `POST /api ${named}`.trim() });
  });

  test.each<[string, Reply]>([
    ['a 403 without a challenge', [403]],
    ['a 403 for another reason', [403, { 'www-authenticate': 'Bearer error="access_denied"' }]],
    ['a 400 that speaks of scope', [400, insufficient]],
  ])('Y-4: is not seen in %s', async (_name, reply) => {
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
    const { authorized, resource } = await startFetch(origin, {}, { tokens: [{}, { tokenId: 't1' }] });
    expect((await authorized(resource)).status).toBe(401);
    expect(seen).toHaveLength(1);
  });
});
