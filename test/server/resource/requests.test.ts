/** What a protected server answers to requests, whatever their token: its metadata, its challenges, its refusals. */
import { describe, expect, it } from 'vitest';
import { parseChallenges } from '../../../src/oauth/discovery/challenge.ts';
import { introspection, jwt, protectedServer } from '../../../src/server/index.ts';
import type { ProtectedServerOptions } from '../../../src/server/index.ts';
import { bearerOf, claims, Issuer, issuer, metadataUrl, newKey, resource, rig, tokenOf } from '../parties.ts';

const key = await newKey();
const token = await tokenOf(key);

describe('the metadata', () => {
  const places = [metadataUrl, 'https://notes.example/.well-known/oauth-protected-resource'];

  it.each(places)('RS-2 RS-3: is at %s, for any page and any cache', async (url) => {
    const { send, handled } = rig(new Issuer(key), { name: 'Notes' });
    const answer = await send(new Request(url));
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=3600',
    });
    expect(await answer.json()).toEqual({
      resource,
      resource_name: 'Notes',
      authorization_servers: [issuer],
      scopes_supported: ['notes:read'],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: ['ES256', 'ES384', 'EdDSA', 'Ed25519', 'PS256', 'RS256'],
    });
    expect(handled).toEqual([]);
  });

  it('RS-2: answers HEAD without a body, a preflight of a page, and no other method', async () => {
    const { send } = rig(new Issuer(key));
    const head = await send(new Request(metadataUrl, { method: 'HEAD' }));
    expect([head.status, await head.text()]).toEqual([200, '']);
    const preflight = await send(new Request(metadataUrl, { method: 'OPTIONS' }));
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toBe('*');
    const post = await send(new Request(metadataUrl, { method: 'POST' }));
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  it('RS-2: gives the resource byte for byte, with a slash at its end too', async () => {
    const { send } = rig(new Issuer(key), { resource: `${resource}/` });
    expect(await (await send(new Request(`${metadataUrl}/`))).json()).toMatchObject({
      resource: `${resource}/`,
    });
  });
});

it('RS-3 RS-4: no token gets a challenge with metadata and scope, and no error', async () => {
  const answer = await rig(new Issuer(key)).call(undefined);
  expect(answer.status).toBe(401);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(bearerOf(answer)).toEqual({ resourceMetadata: metadataUrl, scope: ['notes:read'] });
  const challenges = parseChallenges(answer.headers.get('www-authenticate') ?? '');
  expect(challenges.map(({ scheme }) => scheme)).toEqual(['bearer', 'dpop']);
  expect(challenges[1]?.parameters.get('algs')).toContain('ES256');
});

it('takes a token whose scheme is written in lower case', async () => {
  const { call } = rig(new Issuer(key));
  expect((await call(undefined, { headers: { authorization: `bearer ${token}` } })).status).toBe(200);
});

it('takes a token for a resource without a path, with the slash that URL parsers add', async () => {
  const { call } = rig(new Issuer(key), { resource: 'https://notes.example' });
  for (const aud of ['https://notes.example', 'https://notes.example/'])
    expect((await call(await tokenOf(key, { aud }), { url: 'https://notes.example/' })).status).toBe(200);
});

describe('a malformed request', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };

  it.each([
    ['the token in the query', (t: string) => ({ url: `${resource}?access_token=${t}` })],
    ['the token in the query, escaped', (t: string) => ({ url: `${resource}?a&acces%73%5Ftoken=${t}` })],
    ['the token in a form and the header', (t: string) => ({ headers: form, body: `access_token=${t}`, t })],
    ['two headers', (t: string) => ({ headers: { authorization: `Bearer ${t}, Bearer ${t}` } })],
    ['a scheme without a token', () => ({ headers: { authorization: 'Bearer' } })],
    ['a token with characters that no token has', () => ({ headers: { authorization: 'Bearer a"b' } })],
    ['a path that leads up behind an escaped slash', (t: string) => ({ url: `${resource}/x%2f..%2Fy`, t })],
    ['an https server asked over plain http', (t: string) => ({ url: 'http://notes.example/mcp', t })],
  ])('RS-12 RS-14 RS-19: is refused with 400: %s', async (_what, make) => {
    const { call, handled, events } = rig(new Issuer(key));
    const { t, ...changes } = { t: undefined, ...make(token) };
    const answer = await call(t, changes);
    expect(answer.status).toBe(400);
    expect(bearerOf(answer)).toMatchObject({ error: 'invalid_request', resourceMetadata: metadataUrl });
    expect(handled).toEqual([]);
    expect(JSON.stringify(events) + (await answer.text())).not.toContain(token);
  });

  it.each(['Bearer', 'Other'])(
    'RS-12: with a long %s header takes time by its length, and no more',
    async (scheme) => {
      const { call, handled } = rig(new Issuer(key));
      // By the square of the length it would take minutes.
      const authorization = `${scheme}${' '.repeat(500_000)}\tx`;
      expect((await call(undefined, { headers: { authorization } })).status).toBe(400);
      expect(handled).toEqual([]);
    },
  );

  it('RS-12: a form without a token in the header gets a challenge and is not read', async () => {
    const { send, handled } = rig(new Issuer(key));
    let isRead = false;
    const body = new ReadableStream(
      {
        pull(controller) {
          isRead = true;
          controller.enqueue(new TextEncoder().encode(`access_token=${token}`));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const answer = await send(new Request(resource, { method: 'POST', headers: form, body, duplex: 'half' }));
    expect([answer.status, bearerOf(answer)?.error, isRead]).toEqual([401, undefined, false]);
    expect(handled).toEqual([]);
  });

  it.each([
    ['is longer than 64 KiB', `a=${'x'.repeat(64 * 1024)}`],
    ['has more than a thousand fields', 'a&'.repeat(1000)],
  ])('is refused with 413 if its form %s', async (_how, body) => {
    const { call, handled } = rig(new Issuer(key));
    expect((await call(token, { headers: form, body })).status).toBe(413);
    expect(handled).toEqual([]);
    expect((await call(token, { headers: form, body: 'a=1&'.repeat(999) })).status).toBe(200);
  });
});

describe('a handler', () => {
  it('RS-15: gets who asks, and neither the token nor a proof of it', async () => {
    const { call, handled } = rig(new Issuer(key));
    const answer = await call(token, { headers: { dpop: 'x', 'x-other': '1' }, body: 'body' });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const [got] = handled;
    expect([...(got?.request.headers.keys() ?? [])]).toEqual(['content-type', 'x-other']);
    expect(await got?.request.text()).toBe('body');
    expect(JSON.stringify(got?.access)).not.toContain(token);
    expect(got?.access.authInfo).toMatchObject({ token: '', clientId: 'editor', scopes: ['notes:read'] });
  });

  it.each([
    ['a signed token', (from: Issuer) => ({ from, tokens: jwt() })],
    [
      'an introspected one',
      (from: Issuer) => {
        from.metadata['introspection_endpoint'] = `${issuer}/introspect`;
        from.introspect = () => Response.json({ ...claims, active: true, roles: [{ name: 'reader' }] });
        return { from, tokens: introspection({ client: { id: 'notes', secret: 's' } }) };
      },
    ],
  ])('RS-10: can’t give a later request more than its token has: %s', async (_what, make) => {
    const { from, tokens } = make(new Issuer(key));
    const { call, handled } = rig(from, { tokens, operations: { tools: { '*': ['notes:admin'] } } });
    const own = await tokenOf(key, { roles: [{ name: 'reader' }] });
    await call(own, { body: '{"method":"ping"}' });
    const [first] = handled;
    if (!first) throw new Error('nothing was handled');
    const { scopes, claims: known, authInfo } = first.access;
    const [role] = known['roles'] as object[];
    const add = (list: unknown) => (list as unknown[]).push('admin');
    const change = (object: unknown) => Object.assign(object as object, { name: 'admin' });
    for (const write of [
      () => add(scopes),
      () => add(known['roles']),
      () => change(role),
      () => change(authInfo.extra['claims']),
    ]) {
      expect(write).toThrow(TypeError);
    }
    authInfo.scopes.push('notes:admin');
    const body = '{"method":"tools/call","params":{"name":"x"}}';
    expect((await call(own, { body })).status).toBe(403);
    await call(own, { body: '{"method":"ping"}' });
    expect(handled[1]?.access.authInfo.scopes).toEqual(['notes:read']);
  });

  it('isn’t reached if the session of the token ended, or can’t be checked', async () => {
    const answers = await Promise.all(
      [() => 'ended' as const, () => 'unavailable' as const, () => Promise.reject(new Error('no base'))].map(
        async (checkSession) => {
          const { call, events } = rig(new Issuer(key), { checkSession });
          const { status } = await call(token);
          return [status, (events.at(-1) as { problem?: string }).problem];
        },
      ),
    );
    expect(answers).toEqual([
      [401, undefined],
      [503, undefined],
      [503, expect.stringMatching(/^checkSession threw Error: "no base" at /)],
    ]);
    expect((await rig(new Issuer(key), { checkSession: () => 'valid' }).call(token)).status).toBe(200);
  });
});

describe('over a proxy', () => {
  const headers = (proto: string, from: string) => ({ 'x-forwarded-proto': proto, 'x-forwarded-for': from });
  const url = 'http://notes.example/mcp';
  const trustedProxies = ['10.0.0.0/8', '2001:db8::1'];

  it.each([
    ['a trusted one says https', '10.1.2.3', headers('https', '192.0.2.7'), 200, '192.0.2.7'],
    ['a trusted one in a mapped address', '::ffff:10.1.2.3', headers('https', '192.0.2.7'), 200, '192.0.2.7'],
    ['the client adds an address', '10.1.2.3', headers('https', '127.0.0.1, 192.0.2.7'), 200, '192.0.2.7'],
    ['two trusted ones in a row', '10.1.2.3', headers('https', '192.0.2.7, 10.9.9.9'), 200, '192.0.2.7'],
    ['a trusted one says http', '10.1.2.3', headers('http', '192.0.2.7'), 400, undefined],
    ['the outer of two proxies got http', '10.1.2.3', headers('http, https', '192.0.2.7'), 400, undefined],
    ['it speaks RFC 7239', '10.1.2.3', { forwarded: 'for=192.0.2.7;proto=https' }, 200, '192.0.2.7'],
    [
      'two speak RFC 7239',
      '10.1.2.3',
      { forwarded: 'For="[2001:db8::7]:4711";Proto="HTTPS", for=10.9.9.9;proto=http' },
      200,
      '2001:db8::7',
    ],
    ['anybody says https', '192.0.2.9', headers('https', '192.0.2.7'), 400, undefined],
  ])(
    'RS-14: a proxy says how a request came, and by whom, only if it is trusted: %s',
    async (_how, address, forwarded, status, client) => {
      const { call, events } = rig(new Issuer(key), { trustedProxies });
      expect((await call(token, { url, headers: forwarded, address })).status).toBe(status);
      expect(events.at(-1)).toMatchObject(
        client === undefined
          ? { reason: 'insecure_transport', problem: expect.stringContaining('trustedProxies') }
          : { address: client },
      );
    },
  );
});

it('behind a stripped prefix the paths that come are those of the resource', async () => {
  const { call, send, handled, events } = rig(new Issuer(key), {
    resource: 'https://notes.example/notes/mcp',
    mountPath: '/mcp',
    routes: [{ path: '/notes/mcp/admin', scopes: ['notes:admin'] }],
  });
  const own = await tokenOf(key, { aud: 'https://notes.example/notes/mcp' });
  const statusOf = async (path: string) => (await call(own, { url: `https://notes.example${path}` })).status;
  expect(
    await Promise.all(['/mcp', '/mcp/', '/mcp/admin', '/mcpx', '/', '/notes/mcp'].map(statusOf)),
  ).toEqual([200, 200, 403, 404, 404, 404]);
  expect(handled).toHaveLength(2);
  const problem = '"/notes/mcp" is not at or below "/mcp" (mountPath)';
  expect(events).toContainEqual(expect.objectContaining({ reason: 'unknown_path', problem }));
  for (const path of ['/notes/mcp', '/mcp', '']) {
    const url = `https://notes.example/.well-known/oauth-protected-resource${path}`;
    expect(await (await send(new Request(url))).json()).toMatchObject({
      resource: 'https://notes.example/notes/mcp',
    });
  }
});

describe('a server on this machine, under development', () => {
  const local = { resource: 'http://127.0.0.1:8080/mcp' };

  it('RS-14: answers over plain http, and to this machine alone', async () => {
    const { call } = rig(new Issuer(key), local);
    const own = await tokenOf(key, { aud: local.resource });
    expect((await call(own, { address: '127.0.0.1' })).status).toBe(200);
    expect((await call(own, { address: '::1' })).status).toBe(200);
    expect((await call(own, { address: '192.0.2.7' })).status).toBe(400);
  });
});

it('RS-16: events say who was admitted or refused and why, and no secret', async () => {
  const { call, events } = rig(new Issuer(key), { operations: {} });
  const body = JSON.stringify({ method: 'resources/read', params: { uri: 'notes://a?key=secret' } });
  await call(token, { url: `${resource}?secret=1`, body, address: '192.0.2.7' });
  await call('wrong', { address: '192.0.2.7' });
  expect(events).toEqual([
    expect.objectContaining({
      kind: 'granted',
      method: 'POST',
      path: '/mcp',
      address: '192.0.2.7',
      issuer,
      subject: 'alice',
      clientId: 'editor',
      needed: ['notes:read'],
      operations: ['resources/read "notes://a"'],
    }),
    expect.objectContaining({ kind: 'refused', status: 401, reason: 'token_unreadable' }),
  ]);
  expect(JSON.stringify(events)).not.toMatch(/secret|wrong|eyJ/);
});

it.each([
  ['resource', { resource: 'notes.example' }],
  ['resource', { resource: 'http://notes.example/mcp' }],
  ['resource', { resource: `${resource}?a=1` }],
  ['authorizationServers', { authorizationServers: [] }],
  ['tokens', { tokens: {} as never }],
  ['scopes', { scopes: { required: ['notes read'] } }],
  ['trustedProxies', { trustedProxies: ['proxy.example'] }],
  ['rateLimit.perClient.requests', { rateLimit: { perClient: { requests: 0, seconds: 1 } } }],
] as const)(
  'options that can’t be right are refused by name: %s (%#)',
  (name, changes: Partial<ProtectedServerOptions>) => {
    const make = () =>
      protectedServer({
        resource,
        authorizationServers: [issuer],
        tokens: { open: () => ({ check: () => Promise.reject(new Error('unused')) }) },
        ...changes,
      });
    expect(make).toThrow(
      expect.objectContaining({
        reason: 'invalid_request',
        message: expect.stringMatching(new RegExp(`${name}.*[^.]\\.$`)),
      }),
    );
  },
);

it.each<[string, () => unknown]>([
  ['issuers.X.preset of jwt.*"auth0".*"okta"', () => jwt({ issuers: { X: 'okat' as 'okta' } })],
  [
    'client of introspection.*: secret: it is missing, or privateKey: it is missing',
    () => introspection({ client: { id: 'x' } as never }),
  ],
  [
    'client of introspection.*: expected {id, secret, method}, or expected {id, privateKey}',
    () => introspection({ client: 'x' as never }),
  ],
  [
    'audience.0 of introspection.*expected string',
    () => introspection({ client: { id: 'x', secret: 'x' }, audience: [1 as never] }),
  ],
])('options say what is missing or allowed: %s', (words, make) => {
  expect(make).toThrow(new RegExp(`^The option ${words}`));
});
