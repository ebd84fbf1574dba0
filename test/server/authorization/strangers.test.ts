/** What a client that nobody entered, and a request that nobody expected, get from the authorization server. */
import { request as plainRequest } from 'node:http';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { authorizationServer, developmentLogin } from '../../../src/server/authorization/index.ts';
import { discoverAuthorizationServerMetadata, registerClient } from '@modelcontextprotocol/client';
import { trustingFetch } from '../../../src/serve/trusting-fetch.ts';
import { freePort } from '../../support/servers/port.ts';
import { authorizationOf, claimsOf, editor, files, notes, redirectUri, signIn, startServer } from './rig.ts';
import type { Asked, Rig } from './rig.ts';

/** As long as a shared secret has to be. */
const clientSecret = 'a secret of at least thirty-two characters';

let rig: Rig;
beforeAll(async () => {
  rig = await startServer({
    clients: [
      { clientId: editor, name: 'Editor', redirectUris: [redirectUri] },
      { clientId: 'robot', clientSecret, isMachine: true },
    ],
  });
});
afterAll(() => rig.close());

async function register(body: object): Promise<{ readonly status: number; readonly clientId: string }> {
  const response = await rig.request('/reg', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { client_id?: string };
  return { status: response.status, clientId: answer.client_id ?? '' };
}

describe('a client that registers itself', () => {
  it.each([
    ['for tokens without a person', { grant_types: ['client_credentials'], response_types: [] }],
    ['for ID tokens in the redirect', { grant_types: ['implicit'], response_types: ['id_token'] }],
    [
      'for a code with an ID token',
      { grant_types: ['authorization_code', 'implicit'], response_types: ['code id_token'] },
    ],
  ])(
    'AS-2 AS-19: a client that registers itself is refused if it asks %s, though a machine was entered',
    async (_what, asked) => {
      expect((await register({ redirect_uris: [redirectUri], ...asked })).status).toBe(400);
    },
  );

  it('a client that registers itself by the protocol’s own SDK, with the scope that it knows, can ask for more later', async () => {
    const trusting = trustingFetch(rig.certificates.ca);
    const { fetch } = trusting;
    onTestFinished(async () => trusting.close());
    const metadata = await discoverAuthorizationServerMetadata(rig.issuer, { fetchFn: fetch });
    const { client_id: clientId } = await registerClient(rig.issuer, {
      ...(metadata ? { metadata } : {}),
      clientMetadata: { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
      scope: 'notes:read',
      fetchFn: fetch,
    });
    const asked = { client_id: clientId, scope: 'notes:read notes:write' };
    const { status, body } = await signIn(rig, asked);
    expect([status, claimsOf(body['access_token'])['scope']]).toEqual([200, 'notes:read notes:write']);
  });

  it.each([
    ['x', 'x'],
    ['an ID token', 'id_token'],
    ['an access token', 'token'],
    ['a code and an ID token', 'code id_token'],
  ])(
    'AS-8: a client that registers itself can’t have its errors sent on without a person, by asking for %s: a page names where they would go',
    async (_what, response_type) => {
      const uri = 'https://phish.example/callback';
      const { status, clientId } = await register({
        redirect_uris: [uri],
        token_endpoint_auth_method: 'none',
      });
      expect(status).toBe(201);
      const asked = { client_id: clientId, redirect_uri: uri, response_type };
      const answer = await rig.request(authorizationOf(rig, asked).url);
      expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
      expect(await answer.text()).toContain('phish.example');
    },
  );

  it.each(['client_name', 'redirect_uris', 'grant_types', 'jwks', 'response_types'])(
    'a client that registers itself is told so if its %s has a wrong form',
    async (name) => {
      const valid = { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' };
      for (const value of [0, true, 'text', [0], { keys: 'k' }])
        expect([value, (await register({ ...valid, [name]: value })).status]).toEqual([
          value,
          name === 'client_name' && value === 'text' ? 201 : 400,
        ]);
    },
  );

  it.each(['\u200b\u2800', '\u3164\u115f', '\ufe0f\u00ad', '\u{1d159}', '\u0303'])(
    'a client that registers itself is refused if no character of its client_name is visible: %j',
    async (name) => {
      const asked = { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none', client_name: name };
      expect((await register(asked)).status).toBe(400);
    },
  );

  it('AS-8: a client that the operator entered gets its errors at its redirect URI', async () => {
    const answer = await rig.request(authorizationOf(rig, { response_type: 'x' }).url);
    const target = new URL(answer.headers.get('location') ?? '');
    expect([target.origin, target.searchParams.get('error')]).toEqual([
      new URL(redirectUri).origin,
      'unsupported_response_type',
    ]);
  });
});

describe('an authorization request', () => {
  const says = async (asked: Asked, more = ''): Promise<readonly unknown[]> => {
    const answer = await rig.request(authorizationOf(rig, asked).url + more);
    const back = new URL(answer.headers.get('location') ?? '', rig.origin);
    const isPage = back.origin === rig.origin && back.pathname.startsWith('/interaction/');
    return [answer.status, isPage ? 'a page' : back.searchParams.get('error')];
  };

  it.each<[string, string, Asked, string]>([
    ['asks for two protected servers', 'invalid_target', {}, `&resource=${encodeURIComponent(files)}`],
    ['wants its answer in a form', 'invalid_request', {}, '&response_mode=form_post'],
    ['wants its answer in the fragment', 'invalid_request', {}, '&response_mode=fragment'],
    ['names nothing but unknown scopes', 'invalid_scope', { scope: 'constructor' }, ''],
    ['ends itself by a name of ours', 'a page', {}, '&keyturn_ended=invalid_scope&keyturn_unasked=1'],
    ['repeats what it says', 'a page', {}, '&response_mode=query&response_mode=query&state=the-state'],
    ['has parameters without a value', 'a page', {}, '&response_mode=&request=&prompt=&max_age='],
    ['says what is of OpenID Connect', 'a page', {}, '&nonce=n&max_age=60&id_token_hint=x&acr_values=y'],
    ['wants what nobody knows', 'a page', { prompt: 'constructor x' }, ''],
    ['escapes plain characters of its resource', 'a page', { resource: 'https://notes.example/%6dcp' }, ''],
    ['names another resource', 'invalid_target', { resource: 'https://notes.example/%2fmcp' }, ''],
  ])('AS-3: an authorization request that %s leads to: %s', async (_what, outcome, asked, more) => {
    expect(await says(asked, more)).toEqual([303, outcome]);
  });

  it('an authorization request longer than 8 KiB is refused, since what it asks is kept', async () => {
    const answer = await rig.request(`${authorizationOf(rig).url}&more=${'m'.repeat(8 * 1024)}`);
    expect(answer.status).toBe(414);
  });

  it('an authorization request names scopes that nobody knows, and gets the others only: on the page, in the code and in the token', async () => {
    const { status, body } = await signIn(rig, { scope: 'notes:read constructor files:read' });
    expect([status, body['scope']]).toEqual([200, 'notes:read']);
    expect(claimsOf(body['access_token'])['scope']).toBe('notes:read');
  });

  it('an authorization request comes from one address a bounded number of times in five minutes, and is then told when to come back', async () => {
    const at = Date.now();
    const flooded = await startServer({ now: () => at });
    onTestFinished(() => flooded.close());
    const asked = authorizationOf(flooded, { client_id: 'nobody' }).url;
    const statuses: number[] = [];
    for (let sent = 0; sent < 300; sent += 50) {
      const answers = await Promise.all(Array.from({ length: 50 }, async () => flooded.request(asked)));
      statuses.push(...answers.map(({ status }) => status));
    }
    expect(new Set(statuses)).toEqual(new Set([400]));
    const refused = await flooded.request(asked);
    expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, 1]);
  });

  it('an authorization request is not kept by an endpoint that anybody could fill: there are no pushed requests', async () => {
    const answer = await rig.request('/request', { method: 'POST', body: new URLSearchParams({ a: 'b' }) });
    expect(answer.status).toBe(404);
  });
});

it.each(['/REG', '/reg/', '/Reg?a', '/AUTH', '/token/', '/.WELL-known/openid-configuration'])(
  'AS-19: an address in another spelling leads nowhere, so that no rule is missed by it: %s',
  async (path) => {
    expect((await rig.request(path, { method: 'POST', body: '{}' })).status).toBe(404);
  },
);

it('the target of a request says nothing about where the endpoints are', async () => {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const server = await authorizationServer({
    issuer,
    resources: [{ resource: notes, scopes: { 'notes:read': 'Read your notes' } }],
    accounts: developmentLogin(['alice']),
  });
  const listener = createServer(server.handler).listen(port, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(async () => {
    listener.close();
    await server.close();
  });
  const status = async (target: string): Promise<number | undefined> => {
    const asked = plainRequest({ port, host: '127.0.0.1', path: target, agent: false }).end();
    const [answer] = await once(asked, 'response');
    answer.resume();
    return answer.statusCode;
  };
  const metadata = '/.well-known/oauth-authorization-server';
  expect([await status(metadata), await status(`http://evil.example${metadata}`)]).toEqual([200, 400]);
});
