/** Signed tokens: one that passes, and one change each to it that must not. */
import { createHmac } from 'node:crypto';
import { exportSPKI, importJWK, type CryptoKey } from 'jose';
import { describe, expect, it } from 'vitest';
import {
  bearerOf,
  claims,
  Issuer,
  issuer,
  type Key,
  newKey,
  part,
  resource,
  rig,
  start,
  tokenOf,
} from '../parties.ts';

const [key, stranger] = await Promise.all([newKey(), newKey()]);

const now = start / 1000;

/** A token with a MAC, which anybody can make who knows the "secret". */
function macToken(secret: string | Buffer, header: object = {}): string {
  const head = part({ alg: 'HS256', typ: 'at+jwt', kid: 'k1', ...header });
  const signed = `${head}.${part(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

describe('a signed token', () => {
  it.each([
    ['with this server as its audience', {}, {}],
    ['with this server among its audiences', { aud: ['https://other.example', resource] }, {}],
    ['with its type in capital letters', {}, { typ: 'AT+JWT' }],
    ['whose clock is a few seconds ahead', { iat: now + 4, nbf: now + 4 }, {}],
  ])('RS-1: passes %s', async (_how, changes, header) => {
    const { call, handled } = rig(new Issuer(key));
    expect((await call(await tokenOf(key, changes, header))).status).toBe(200);
    expect(handled[0]?.access).toMatchObject({
      subject: 'alice',
      clientId: 'editor',
      scopes: ['notes:read'],
      issuer,
    });
  });

  it.each(['ES256', 'EdDSA', 'PS256', 'RS256'])('passes if it is signed with %s', async (alg) => {
    const own = await newKey(alg);
    expect((await rig(new Issuer(own)).call(await tokenOf(own))).status).toBe(200);
  });

  const evil = 'https://evil.example';
  const unreadable = 'no form that this server reads';
  type Make = () => string | Promise<string>;
  const hostile: readonly (readonly [string, string, Make])[] = [
    ['for another audience', 'not issued for this', () => tokenOf(key, { aud: 'https://other.example' })],
    ['for the path below this one', 'not issued for this', () => tokenOf(key, { aud: `${resource}/admin` })],
    ['from another issuer', 'another issuer', () => tokenOf(key, { iss: evil })],
    ['from this issuer with a slash more', 'another issuer', () => tokenOf(key, { iss: `${issuer}/` })],
    ['by none', 'algorithm', () => `${part({ alg: 'none', typ: 'at+jwt' })}.${part(claims)}.`],
    [
      'with a MAC by the public key as PEM',
      'algorithm',
      async () =>
        macToken(await exportSPKI((await importJWK(key.jwk, 'ES256', { extractable: true })) as CryptoKey)),
    ],
    ['that expires with the tolerance', 'expired', () => tokenOf(key, { exp: now - 5 })],
    ['that is not valid yet', 'not valid yet', () => tokenOf(key, { nbf: now + 6 })],
    ['that was issued in the future', 'not valid yet', () => tokenOf(key, { iat: now + 60 })],
    ...[
      { nonce: 'n' },
      { at_hash: 'h' },
      { events: {} },
      { token_use: 'id' },
      { typ: 'ID' },
      { typ: 'Refresh' },
      { azp: resource },
    ].map(
      (marks) =>
        [
          `of the type JWT with the ${Object.keys(marks)[0]} ${JSON.stringify(marks)} of another kind of token`,
          'not an access token',
          () => tokenOf(key, marks, { typ: 'JWT' }),
        ] as const,
    ),
    ['of an assertion’s type', 'not an access token', () => tokenOf(key, {}, { typ: 'oauth-id-jag+jwt' })],
    ['with a nonce, untyped', 'not an access token', () => tokenOf(key, { nonce: 'n' }, { typ: undefined })],
    ['without aud', 'not issued for this', () => tokenOf(key, { aud: undefined })],
    ['with a number among its audiences', 'lacks a claim', () => tokenOf(key, { aud: [resource, 1] })],
    ['without iss', 'another issuer', () => tokenOf(key, { iss: undefined })],
    ['without exp', 'lacks a claim', () => tokenOf(key, { exp: undefined })],
    ['with the id of no key', 'unknown key', () => tokenOf(key, {}, { kid: 'k2' })],
    ['by a stranger with the id of the key', 'wrong signature', () => tokenOf(stranger)],
    ['by a stranger with jwk', 'wrong signature', () => tokenOf(stranger, {}, { jwk: stranger.jwk })],
    [
      'with a critical header',
      'critical header',
      async () => {
        const [, ...rest] = (await tokenOf(key)).split('.');
        return [part({ alg: 'ES256', typ: 'at+jwt', kid: 'k1', crit: ['exp'], exp: 1 }), ...rest].join('.');
      },
    ],
    [
      'with a changed claim',
      'wrong signature',
      async () => {
        const [head, , signature] = (await tokenOf(key)).split('.');
        return `${head}.${part({ ...claims, scope: 'notes:read notes:admin' })}.${signature}`;
      },
    ],
    ['without its signature', 'wrong signature', async () => (await tokenOf(key)).replace(/[^.]*$/, '')],
    ['that is no JWT', unreadable, () => 'opaque'],
    ['over 16,384 characters', unreadable, () => tokenOf(key, { x: 'x'.repeat(16_384) })],
    ['bound to a certificate', 'bound to a key', () => tokenOf(key, { cnf: { 'x5t#S256': 'abc' } })],
  ];

  it.each(hostile)('RS-5 RS-6: is refused %s', async (_what, problem, make) => {
    const from = new Issuer(key);
    const { call, handled, events } = rig(from);
    const token = await make();
    const answer = await call(token);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(bearerOf(answer)).toMatchObject({ scope: ['notes:read'] });
    const text = await answer.text();
    expect(text).toContain(problem);
    expect(text + JSON.stringify(events)).not.toContain(token);
    expect(handled).toEqual([]);
    // Nothing that a token names is ever fetched.
    expect(
      from.asked.filter((path) => !['/keys', '/.well-known/oauth-authorization-server'].includes(path)),
    ).toEqual([]);
  });

  it.each<[object, string]>([
    [{ iss: `${issuer}/` }, `iss is "${issuer}/"; expected: "${issuer}"`],
    [{ iss: undefined }, `iss is missing; expected: "${issuer}"`],
    [
      { aud: ['https://a.example/?key=secret', 'a'.repeat(32)] },
      `aud is "https://a.example/?…", "…"; expected: "${resource}"`,
    ],
  ])('RS-16: from elsewhere is told with what it says and what is expected: %j', async (changes, problem) => {
    const { call, events } = rig(new Issuer(key));
    await call(await tokenOf(key, changes as Record<string, unknown>));
    expect(events).toEqual([expect.objectContaining({ kind: 'refused', problem })]);
  });

  it('RS-16: is told in a bounded number of words', async () => {
    const { call, events } = rig(new Issuer(key));
    await call(
      await tokenOf(key, { aud: Array.from({ length: 50 }, () => 'https://a.example/'.repeat(15)) }),
    );
    expect(JSON.stringify(events).length).toBeLessThan(2000);
  });

  it('RS-7: counts no longer than its exp, though it passed a moment before', async () => {
    const { call, pass } = rig(new Issuer(key));
    const token = await tokenOf(key, { exp: now + 10 });
    expect((await call(token)).status).toBe(200);
    pass(9);
    expect((await call(token)).status).toBe(200);
    pass(6);
    expect(await (await call(token)).text()).toContain('expired');
  });

  it('RS-8: is checked by the keys of the issuer that it names, of several', async () => {
    const other = 'https://other-login.example';
    const otherKey = await newKey();
    const [first, second] = [new Issuer(key), new Issuer(otherKey)];
    second.metadata = { issuer: other, jwks_uri: `${other}/keys` };
    const { call } = rig(first, {
      authorizationServers: [issuer, other],
      fetch: async (input, init) => {
        const request = new Request(input, init);
        return (request.url.startsWith(other) ? second : first).fetch(request);
      },
    });
    expect((await call(await tokenOf(key))).status).toBe(200);
    expect((await call(await tokenOf(otherKey, { iss: other }))).status).toBe(200);
    // Each issuer speaks for itself alone.
    expect(await (await call(await tokenOf(otherKey))).text()).toContain('wrong signature');
    expect(await (await call(await tokenOf(key, { iss: other }))).text()).toContain('wrong signature');
  });

  it('is refused if the key set has a shared secret', async () => {
    const from = new Issuer(key);
    from.keys = [{ kty: 'oct', kid: 'k1', k: Buffer.from('secret').toString('base64url'), alg: 'HS256' }];
    expect((await rig(from).call(macToken('secret'))).status).toBe(401);
    expect((await rig(from).call(await tokenOf(key))).status).toBe(401);
  });

  it('is refused if its key is for another algorithm', async () => {
    const own = await newKey('RS256');
    const { call } = rig(new Issuer({ ...own, jwk: { ...own.jwk, alg: 'PS256' } }));
    expect(await (await call(await tokenOf(own))).text()).toContain('unknown key');
  });
});

describe('the keys of an issuer', () => {
  it.each<[string, { readonly kid?: string }]>([
    ['without names', {}],
    ['with one name', { kid: 'k1' }],
  ])('RS-8: of several keys %s the one that signed counts', async (_what, name) => {
    const [first, second, other] = await Promise.all([newKey(), newKey(), newKey()]);
    const from = new Issuer();
    const named = ({ jwk: { kid: _own, ...jwk } }: Key) => ({ ...jwk, ...name });
    from.keys = [{ kty: 'EC', crv: 'P-256', ...name }, named(first), named(second)];
    const { call } = rig(from);
    for (const own of [first, second])
      expect((await call(await tokenOf(own, {}, { kid: name.kid }))).status).toBe(200);
    expect(await (await call(await tokenOf(other, {}, { kid: name.kid }))).text()).toContain(
      'wrong signature',
    );
  });

  it('RS-8: are fetched again for an unknown one, and so a new key counts', async () => {
    const from = new Issuer(key);
    const { call, pass } = rig(from);
    await call(await tokenOf(key));
    const next = await newKey('ES256', 'k2');
    from.keys = [key.jwk, next.jwk];
    pass(31);
    expect((await call(await tokenOf(next))).status).toBe(200);
  });

  it('RS-8: are fetched at most once in thirty seconds, whatever keys strangers name', async () => {
    const from = new Issuer(key);
    const { call, pass } = rig(from);
    for (let n = 0; n < 20; n += 1) await call(await tokenOf(stranger, {}, { kid: `x${n}` }));
    expect(from.asked.filter((path) => path === '/keys')).toHaveLength(1);
    pass(31);
    for (let n = 0; n < 20; n += 1) await call(await tokenOf(stranger, {}, { kid: `y${n}` }));
    expect(from.asked.filter((path) => path === '/keys')).toHaveLength(2);
  });

  it('RS-8: count no longer once the issuer withdrew them', async () => {
    const from = new Issuer(key);
    const { call, pass } = rig(from);
    const token = await tokenOf(key, { exp: now + 10_000 });
    expect((await call(token)).status).toBe(200);
    from.keys = [(await newKey('ES256', 'k2')).jwk];
    pass(601);
    expect(await (await call(token)).text()).toContain('unknown key');
  });

  it('RS-8: serve on through an outage, for an hour, and then nothing passes', async () => {
    const from = new Issuer(key);
    const { call, pass, events } = rig(from);
    const token = await tokenOf(key, { exp: now + 100_000 });
    await call(token);
    from.fault = 'down';
    pass(601);
    expect((await call(token)).status).toBe(200);
    expect(events).toContainEqual(expect.objectContaining({ kind: 'outage', what: 'keys', isBridged: true }));
    pass(3601);
    const answer = await call(token);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('5');
    from.fault = undefined;
    pass(6);
    expect((await call(token)).status).toBe(200);
  });

  it.each<[string, (from: Issuer) => void]>([
    ['can’t be reached', (from) => void (from.fault = 'down')],
    ['states another issuer', (from) => void (from.metadata['issuer'] = `${issuer}/`)],
    ['names no key set', (from) => void delete from.metadata['jwks_uri']],
    ['names a key set over http', (from) => void (from.metadata['jwks_uri'] = 'http://login.example/keys')],
  ])('RS-8: are missing, and nothing passes, if the issuer %s', async (_what, bend) => {
    const from = new Issuer(key);
    bend(from);
    const { call, handled, events } = rig(from);
    const answer = await call(await tokenOf(key));
    expect(events[0]).toMatchObject({
      kind: 'outage',
      problem: expect.stringMatching(/^(?!internal)[a-z_]+: .+\.$/),
    });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.headers.get('www-authenticate')).toBeNull();
    expect(handled).toEqual([]);
  });
});
