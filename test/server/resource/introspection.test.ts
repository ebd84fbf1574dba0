/** Tokens that their issuer is asked about: its answers, what of them is kept, and its silence. */
import { createLocalJWKSet, exportJWK, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { introspection } from '../../../src/server/index.ts';
import type { IntrospectionClient, IntrospectionOptions } from '../../../src/server/index.ts';
import { Issuer, issuer, newKey, resource, rig, start } from '../parties.ts';

const client = { id: 'notes server', secret: 'a:b%c' };
const now = start / 1000;
const active = {
  active: true,
  iss: issuer,
  aud: resource,
  sub: 'alice',
  client_id: 'editor',
  token_type: 'Bearer',
  scope: 'notes:read',
  exp: now + 300,
};

function issuerThatSays(answer: unknown, status = 200): Issuer {
  const from = new Issuer();
  from.metadata = { issuer, introspection_endpoint: `${issuer}/introspect` };
  from.introspect = () => Response.json(answer, { status });
  return from;
}

const asking = (from: Issuer, options: Partial<IntrospectionOptions> = {}, more = {}) =>
  rig(from, { tokens: introspection({ client, ...options }), ...more });

const says = (from: Issuer, answer: Response): void => void (from.introspect = () => answer);

const questions = (from: Issuer): number => from.asked.filter((path) => path === '/introspect').length;

describe('a token', () => {
  it('RS-9: passes if its issuer says that it is active and for this server', async () => {
    const { call, handled } = asking(issuerThatSays({ ...active, jti: 'opaque-1' }));
    expect((await call('opaque-1')).status).toBe(200);
    expect(handled[0]?.access).toMatchObject({
      subject: 'alice',
      clientId: 'editor',
      scopes: ['notes:read'],
    });
    // Some servers use the token as its own id.
    expect(JSON.stringify(handled[0]?.access)).not.toContain('opaque-1');
  });

  it.each([
    ['that is not active', { active: false }, 'not active'],
    ['for another audience', { ...active, aud: 'https://other.example' }, 'not issued for this'],
    ['without an audience', { ...active, aud: undefined }, 'not issued for this'],
    ['from another issuer', { ...active, iss: 'https://evil.example' }, 'another issuer'],
    ['that has expired', { ...active, exp: now }, 'expired'],
    ['that is not valid yet', { ...active, nbf: now + 6 }, 'not valid yet'],
    ['of another type', { ...active, token_type: 'refresh_token' }, 'not an access token'],
    ['that refreshes, at Ory', { ...active, token_use: 'refresh_token' }, 'not an access token'],
    ['that refreshes, at Keycloak', { ...active, typ: 'Offline' }, 'not an access token'],
    ['that is an ID token', { ...active, typ: 'ID' }, 'not an access token'],
    ['of nobody', { ...active, client_id: undefined, sub: undefined }, 'lacks a claim'],
    ['bound to a certificate', { ...active, cnf: { 'x5t#S256': 'a' } }, 'bound to a key'],
  ])('RS-6 RS-9: an introspected token is rejected %s', async (_what, answer, problem) => {
    const { call, handled } = asking(issuerThatSays(answer));
    const refused = await call('opaque');
    expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining(problem)]);
    expect(handled).toEqual([]);
  });

  it.each([{ iss: 'opaque' }, { aud: 'opaque' }])(
    'RS-16: an introspected token is in no event, whatever its answer repeats: %j',
    async (changes) => {
      const { call, events } = asking(issuerThatSays({ ...active, ...changes }));
      await call('opaque');
      expect(events).toMatchObject([{ problem: expect.stringContaining(' is missing') }]);
    },
  );

  it.each<[string, object, object]>([
    ['in a list of audiences', { aud: ['account', resource] }, { subject: 'alice' }],
    ['with scopes in a list', { scope: undefined, scp: ['notes:read'] }, { scopes: ['notes:read'] }],
    ['without an end', { exp: undefined }, { expiresAt: now + 30 }],
    ['with null for nothing', { exp: null, nbf: null, cnf: null, iss: null }, { expiresAt: now + 30 }],
    ['whose issuer’s clock is ahead', { nbf: now + 5, iat: now + 5 }, { subject: 'alice' }],
    ['whose user has a name only', { sub: undefined, username: 'bob' }, { subject: 'bob' }],
    ['of a client alone', { sub: undefined }, { subject: 'editor' }],
    ['that says of its use that it gives access', { token_use: 'access_token', typ: 'Bearer' }, {}],
  ])('RS-9: an introspected token passes %s', async (_what, changes, expected) => {
    const { call, handled } = asking(issuerThatSays({ ...active, ...changes }));
    expect((await call('opaque')).status).toBe(200);
    expect(handled[0]?.access).toMatchObject(expected);
  });
});

describe('an answer', () => {
  it('RS-9: is kept for thirty seconds, and asked for once by concurrent requests', async () => {
    const from = issuerThatSays(active);
    const { call, pass } = asking(from);
    from.introspect = async () => {
      // Long enough for the others to come.
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return Response.json(active);
    };
    await Promise.all([1, 2, 3].map(() => call('opaque')));
    pass(29);
    await call('opaque');
    expect(questions(from)).toBe(1);
    from.introspect = () => Response.json({ active: false });
    pass(2);
    expect((await call('opaque')).status).toBe(401);
  });

  it('RS-7: of introspection is not kept past the expiry of its token', async () => {
    const from = issuerThatSays({ ...active, exp: now + 10 });
    const { call, pass } = asking(from);
    await call('opaque');
    pass(10);
    expect((await call('opaque')).status).toBe(401);
    expect(questions(from)).toBe(2);
  });

  it.each<[string, (from: Issuer) => void, string?]>([
    ['none at all', (from) => void (from.fault = 'down')],
    [
      'that this server isn’t known there',
      (from: Issuer) =>
        void (from.introspect = () => Response.json({ error: 'invalid_client' }, { status: 401 })),
      'status 401 "invalid_client"',
    ],
    [
      'an error with a status of success',
      (from) => says(from, Response.json({ error: 'a\nb' })),
      String.raw`an answer without active: "a\nb"`,
    ],
    ['no state', (from) => says(from, Response.json({ ...active, active: undefined }))],
    [
      'a page',
      (from) => says(from, new Response('<!doctype html><title>Sign in</title>')),
      'an answer that is no JSON object',
    ],
    ['a failure that looks right', (from) => says(from, Response.json(active, { status: 500 }))],
    ['a redirect', (from) => says(from, Response.redirect('https://evil.example', 307))],
    ['no endpoint in the metadata', (from) => void delete from.metadata['introspection_endpoint']],
  ])('RS-9: of introspection that says nothing lets nothing pass: %s', async (_what, bend, problem = '') => {
    const from = issuerThatSays(active);
    bend(from);
    const { call, handled, events } = asking(from);
    const answer = await call('opaque');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(events[0]).toMatchObject({
      kind: 'outage',
      what: 'introspection',
      isBridged: false,
      problem: expect.stringContaining(problem),
    });
    expect(handled).toEqual([]);
    expect(JSON.stringify(events)).not.toContain('opaque');
  });

  it('RS-9: of introspection that takes too long lets nothing pass', async () => {
    const from = issuerThatSays(active);
    const hanging: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      if (!request.url.endsWith('/introspect')) return from.fetch(request);
      return new Promise((_resolve, reject) => {
        request.signal.addEventListener('abort', () => reject(request.signal.reason as Error));
      });
    };
    const { call } = asking(from, { timeoutSeconds: 0.05 }, { fetch: hanging });
    expect((await call('opaque')).status).toBe(503);
  });
});

describe('the metadata of the issuer', () => {
  const documents = (from: Issuer): number =>
    from.asked.filter((path) => path.startsWith('/.well-known')).length;

  it('RS-9: is fetched once a minute for many tokens, whatever its headers say', async () => {
    const from = issuerThatSays({ active: false });
    const uncached: typeof fetch = async (input, init) => {
      const answer = await from.fetch(input, init);
      answer.headers.set('cache-control', 'no-store');
      return answer;
    };
    const { call, pass } = asking(from, {}, { fetch: uncached });
    const flood = async (name: string) => Promise.all([1, 2, 3, 4].map((n) => call(`${name}${n}`)));
    await flood('a');
    await flood('b');
    expect([documents(from), questions(from)]).toEqual([1, 8]);
    pass(60);
    await flood('c');
    expect(documents(from)).toBe(2);
  });
});

const own = await newKey();

describe('the question', () => {
  async function asked(as: IntrospectionClient) {
    const from = issuerThatSays(active);
    const seen: { form: URLSearchParams; headers: Headers }[] = [];
    from.introspect = (form, headers) => {
      seen.push({ form, headers });
      return Response.json(active);
    };
    expect((await asking(from, { client: as }).call('opaque')).status).toBe(200);
    const [first] = seen;
    expect(first?.form.get('token')).toBe('opaque');
    expect(first?.form.get('token_type_hint')).toBe('access_token');
    return first;
  }

  it('RS-9: carries id and secret, each encoded, in the header', async () => {
    const question = await asked(client);
    const [, encoded = ''] = question?.headers.get('authorization')?.split(' ') ?? [];
    expect(Buffer.from(encoded, 'base64').toString()).toBe('notes%20server:a%3Ab%25c');
  });

  it('RS-9: carries an assertion for this issuer, signed by the key', async () => {
    const jwk = { ...(await exportJWK(own.privateKey)), alg: 'ES256', kid: 'k1' };
    const question = await asked({ id: client.id, privateKey: jwk });
    const keys = createLocalJWKSet({ keys: [own.jwk] });
    const options = { issuer: client.id, subject: client.id, audience: issuer, currentDate: new Date(start) };
    await jwtVerify(question?.form.get('client_assertion') ?? '', keys, options);
  });
});

it('introspection is refused for two authorization servers', () => {
  const make = () =>
    asking(issuerThatSays(active), {}, { authorizationServers: [issuer, 'https://b.example'] });
  expect(make).toThrow(/one authorization server/);
});
