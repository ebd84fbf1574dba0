/** The authorization server: metadata, the code flow, refresh and revocation. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLocalJWKSet, jwtVerify } from 'jose';
import {
  answerTo,
  authorizationOf,
  claimsOf,
  editor,
  exchangeOf,
  files,
  notes,
  redirectUri,
  refreshOf,
  registered,
  signIn,
  startServer,
  tokenFor,
  walk,
} from './rig.ts';
import type { AuthorizationServerOptions } from '../../../src/server/authorization/index.ts';
import { ofFile, ofTest } from '../../support/lasting.ts';

const rig = ofFile(async () => startServer());

const wrongResources: readonly (readonly [string, readonly string[]])[] = [
  ['another resource', [files]],
  ['a resource that is not known', ['https://other.example/mcp']],
  ['two resources', [notes, files]],
];

describe('the metadata of an authorization server', () => {
  it.each(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'])(
    'AS-1: names its issuer, S256 and metadata documents at %s',
    async (path) => {
      const metadata = (await (await rig.request(path)).json()) as Record<string, unknown>;
      expect(metadata).toMatchObject({
        issuer: rig.issuer,
        code_challenge_methods_supported: ['S256'],
        response_modes_supported: ['query'],
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
        token_endpoint: `${rig.issuer}/token`,
      });
    },
  );

  it('AS-1: is found at all three places of an issuer with a path', async () => {
    const tenant = await ofTest(startServer({}, '/tenant'));
    const found = await Promise.all(
      [
        '/.well-known/oauth-authorization-server/tenant',
        '/.well-known/openid-configuration/tenant',
        '/tenant/.well-known/openid-configuration',
      ].map(async (path) => (await tenant.request(path)).json()),
    );
    for (const metadata of found) {
      expect(metadata).toMatchObject({
        issuer: `${tenant.origin}/tenant`,
        token_endpoint: `${tenant.origin}/tenant/token`,
      });
    }
    // The last one changes the query on its way.
    for (const scope of ['notes:read', 'notes:read offline_access'])
      expect((await signIn(tenant, { scope })).status).toBe(200);
    expect((await tenant.request('/.well-known/oauth-authorization-server')).status).toBe(404);
  });
});

describe('a sign-in at the authorization server', () => {
  it('AS-3 AS-4: gives a short-lived signed token for the resource, names the issuer', async () => {
    const authorization = authorizationOf(rig);
    const { code, iss, state } = await walk(rig, authorization);
    expect({ iss, state }).toEqual({ iss: rig.issuer, state: 'the-state' });
    const { status, body } = await tokenFor(rig, exchangeOf(authorization, code));
    expect(status).toBe(200);
    const keys = createLocalJWKSet((await (await rig.request('/jwks')).json()) as never);
    const { payload, protectedHeader } = await jwtVerify(String(body['access_token']), keys, {
      issuer: rig.issuer,
      audience: notes,
      typ: 'at+jwt',
    });
    expect(payload).toMatchObject({ sub: 'alice', client_id: editor, scope: 'notes:read', aud: notes });
    expect(Number(payload.exp) - Number(payload.iat)).toBe(300);
    expect(protectedHeader.alg).toBe('ES256');
  });

  it.each([
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no resource, of several', { resource: undefined }, 'invalid_target'],
  ])('AS-2 AS-3: refuses a request with %s at the redirect URI', async (_what, asked, error) => {
    const answer = await rig.request(authorizationOf(rig, asked).url);
    const location = new URL(answer.headers.get('location') ?? '');
    expect(location.origin + location.pathname).toBe(redirectUri);
    expect(location.searchParams.get('error')).toBe(error);
    expect(location.searchParams.get('iss')).toBe(rig.issuer);
  });
});

describe('a redirect URI', () => {
  const at = new URL(redirectUri).host;
  it.each([
    ['another host', 'https://evil.example/callback'],
    ['an encoded path', `http://${at}/%63allback`],
    ['a query', `http://${at}/callback?next=https://evil.example`],
    ['a user before the host', `http://${at}@evil.example/callback`],
    ['another loopback name', 'http://localhost/callback'],
    ['another scheme', `https://${at}/callback`],
  ])('AS-6 AS-8: that differs by %s gets a page and never a redirect', async (_what, uri) => {
    const answer = await rig.request(authorizationOf(rig, { redirect_uri: uri }).url);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('location')).toBeNull();
    expect(answer.headers.get('content-type')).toContain('text/html');
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });

  it('AS-6: may have any port on the loopback address', async () => {
    const [, location] = await answerTo(rig, { redirect_uri: 'http://127.0.0.1:5822/callback' });
    expect(location).toContain('/interaction/');
  });

  it('AS-8: of an unknown client gets a page and never a redirect', async () => {
    expect(await answerTo(rig, { client_id: 'nobody' })).toEqual([400, null]);
  });
});

describe('a code', () => {
  const exchange = async (changes: Record<string, string | undefined>) => {
    const authorization = authorizationOf(rig);
    const { code } = await walk(rig, authorization);
    const form = exchangeOf(authorization, code);
    return { form, answer: await tokenFor(rig, { ...form, ...changes }) };
  };

  it.each([
    ['no verifier', { code_verifier: undefined }, 'invalid_grant'],
    ['an unknown client', { client_id: 'nobody' }, 'invalid_client'],
  ])('AS-2 AS-3: is refused with %s', async (_what, changes, error) => {
    const { answer } = await exchange(changes);
    expect(answer.body['error']).toBe(error);
  });

  it.each(wrongResources)(
    'AS-9: that is shown for %s is refused, and still good for its own',
    async (_what, asked) => {
      const { form, answer } = await exchange({ code_verifier: 'v'.repeat(43) });
      const other = await tokenFor(rig, { ...form, redirect_uri: 'http://127.0.0.1:1/callback' });
      expect([answer.body['error'], other.body['error']]).toEqual(['invalid_grant', 'invalid_grant']);
      const wrong = new URLSearchParams(Object.entries(form).filter(([name]) => name !== 'resource'));
      for (const resource of asked) wrong.append('resource', resource);
      const refused = await rig.request('/token', { method: 'POST', body: wrong });
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: 'invalid_target' }]);
      const problem = expect.stringContaining(`resource is "${asked[0]}"`);
      expect(rig.events.at(-1)).toMatchObject({ error: 'invalid_target', problem });
      const right = await tokenFor(rig, form);
      expect([right.status, claimsOf(right.body['access_token'])['aud']]).toEqual([200, notes]);
    },
  );

  it('AS-9: that is used twice ends the tokens of its first use', async () => {
    const { form, answer } = await exchange({});
    expect((await tokenFor(rig, form)).body['error']).toBe('invalid_grant');
    const later = await tokenFor(rig, refreshOf(answer.body['refresh_token']));
    expect(later.body['error']).toBe('invalid_grant');
  });
});

describe('a refresh token', () => {
  /** A server whose clock a test moves. */
  async function ownServer(options: Partial<AuthorizationServerOptions> = {}) {
    let late = 0;
    const own = await startServer({ now: () => Date.now() + late * 1000, ...options });
    onTestFinished(async () => own.close());
    return { own, pass: (seconds: number) => void (late += seconds) };
  }

  it('AS-5: that is used twice ends the one that replaced it', async () => {
    const { own, pass } = await ownServer();
    const first = await signIn(own);
    const second = await tokenFor(own, refreshOf(first.body['refresh_token']));
    pass(11);
    for (const { body } of [first, second]) {
      const answer = await tokenFor(own, refreshOf(body['refresh_token']));
      expect(answer.body['error']).toBe('invalid_grant');
    }
    expect(own.events).toContainEqual({ kind: 'replayed', clientId: editor, account: 'alice' });
  });

  it('AS-5: used by two processes at once gives both the same successor, used once', async () => {
    const { own, pass } = await ownServer();
    const first = refreshOf((await signIn(own)).body['refresh_token']);
    const answers = await Promise.all([1, 2, 3].map(async () => tokenFor(own, first)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const successors = new Set(answers.map(({ body }) => body['refresh_token']));
    expect(successors.size).toBe(1);
    const [next] = successors;
    expect(next).not.toBe(first['refresh_token']);
    expect((await tokenFor(own, refreshOf(next))).status).toBe(200);
    // A late process still gets the successor; it doesn't become unused again by that.
    expect((await tokenFor(own, first)).body['refresh_token']).toBe(next);
    pass(11);
    expect((await tokenFor(own, refreshOf(next))).body['error']).toBe('invalid_grant');
  });

  it('is accepted in a JSON request that has null for omitted members', async () => {
    const { body } = await signIn(rig);
    const answer = await rig.request('/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...refreshOf(body['refresh_token']), scope: null }),
    });
    expect(answer.status).toBe(200);
  });

  it('AS-5: gives no more than was granted', async () => {
    const { body } = await signIn(rig);
    const form = refreshOf(body['refresh_token'], { scope: 'notes:read notes:write' });
    expect((await tokenFor(rig, form)).body['error']).toBe('invalid_scope');
  });

  it.each(wrongResources)(
    'AS-5: that is shown for %s is refused, and still good for its own',
    async (_what, asked) => {
      const { body } = await signIn(rig);
      const form = new URLSearchParams(refreshOf(body['refresh_token']));
      for (const resource of asked) form.append('resource', resource);
      const refused = await rig.request('/token', { method: 'POST', body: form });
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: 'invalid_target' }]);
      const answer = await tokenFor(rig, refreshOf(body['refresh_token'], { resource: notes }));
      expect([answer.status, claimsOf(answer.body['access_token'])['aud']]).toEqual([200, notes]);
    },
  );

  it('AS-5: of one client is refused from another', async () => {
    const { body } = await signIn(rig);
    const client_id = await registered(rig);
    const answer = await tokenFor(rig, refreshOf(body['refresh_token'], { client_id }));
    expect(answer.body['error']).toBe('invalid_grant');
  });

  it('AS-10: ends when its client revokes it, and the grant’s other tokens with it', async () => {
    const { body } = await signIn(rig);
    const revoked = await rig.request('/token/revocation', {
      method: 'POST',
      body: new URLSearchParams({ token: String(body['refresh_token']), client_id: editor }),
    });
    expect(revoked.status).toBe(200);
    expect(rig.events).toContainEqual({ kind: 'revoked', clientId: editor, account: 'alice' });
    expect((await tokenFor(rig, refreshOf(body['refresh_token']))).body['error']).toBe('invalid_grant');
  });
});
