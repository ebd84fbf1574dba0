/** The bent authorization server, unbent: it keeps the rules, and refuses a client that breaks one. */
import * as client from 'openid-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeJwt } from '../support/bent/authorization-server.ts';
import { type BentWorld, openBentWorld } from '../support/bent/world.ts';
import { authorized, configured, redirectUri, registered, signedIn, visited } from './bent-client.ts';

let world: BentWorld;
beforeEach(async () => {
  world = await openBentWorld();
});
afterEach(async () => world.close());

const server = () => world.authorizationServer;

describe('a sign-in by openid-client', () => {
  it('registers, brings a code with state and iss, and gives tokens that the protected server takes', async () => {
    const { redirect, tokens } = await signedIn(world);
    expect(Object.fromEntries(redirect.searchParams)).toMatchObject({
      state: 'the-state',
      iss: server().issuer,
    });
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'read' });
    expect((await visited(world, tokens.access_token)).status).toBe(200);
    expect(server().counts).toMatchObject({
      registrations: 1,
      authorizations: 1,
      codesRedeemed: 1,
      refusals: 0,
    });
  });

  it('gives an ID token with the nonce to who asks for openid', async () => {
    const config = await registered(world);
    const { verifier, redirect } = await authorized(world, config, { scope: 'openid read', nonce: 'n' });
    const checks = { pkceCodeVerifier: verifier, expectedState: 'the-state', expectedNonce: 'n' };
    const { resource } = world.protectedServer.settings;
    const tokens = await client.authorizationCodeGrant(config, redirect, checks, { resource });
    expect(tokens.claims()).toMatchObject({ iss: server().issuer, sub: 'alice', nonce: 'n' });
  });

  it('gives a signed token for the resource where those are issued', async () => {
    server().settings.accessTokenFormat = 'jwt';
    const { tokens } = await signedIn(world);
    const { header, claims } = decodeJwt(tokens.access_token);
    expect(header).toMatchObject({ typ: 'at+jwt', alg: 'ES256' });
    expect(claims).toMatchObject({ iss: server().issuer, aud: world.protectedServer.url, scope: 'read' });
    expect((await visited(world, tokens.access_token)).status).toBe(200);
  });

  it('works over http where everything is plain', async () => {
    const plain = await openBentWorld({ plain: true });
    const added = plain.authorizationServer.addClient();
    const config = await client.discovery(
      new URL(plain.authorizationServer.issuer),
      added.clientId,
      undefined,
      client.None(),
      { algorithm: 'oauth2', execute: [client.allowInsecureRequests] },
    );
    expect((await signedIn(plain, config)).redirect.searchParams.get('iss')).toMatch(/^http:/);
    await plain.close();
  });
});

describe('the metadata', () => {
  it.each([
    ['', '/.well-known/oauth-authorization-server', '/.well-known/openid-configuration', undefined],
    ['/', '/.well-known/oauth-authorization-server', '/.well-known/openid-configuration', undefined],
    [
      '/t',
      '/.well-known/oauth-authorization-server/t',
      '/.well-known/openid-configuration/t',
      '/t/.well-known/openid-configuration',
    ],
    [
      '/t/',
      '/.well-known/oauth-authorization-server/t',
      '/.well-known/openid-configuration/t',
      '/t/.well-known/openid-configuration',
    ],
  ])('of an issuer ending in "%s" is where it was told to be', async (issuerPath, ...paths) => {
    const tenant = await world.openAuthorizationServer({ issuerPath, metadataAt: [] });
    const statuses = () =>
      Promise.all(
        paths.map(async (path) =>
          path === undefined ? undefined : (await world.fetch(tenant.server.origin + path)).status,
        ),
      );
    const [third] = paths.slice(2);
    expect(tenant.metadataPaths).toEqual(paths.filter((path) => path !== undefined));
    expect(await statuses()).toEqual([404, 404, third && 404]);
    tenant.settings.metadataAt = ['oauth'];
    expect(await statuses()).toEqual([200, 404, third && 404]);
    tenant.settings.metadataAt = ['oidc'];
    expect(await statuses()).toEqual([404, 200, third && 404]);
    tenant.settings.metadataAt = ['oauth', 'oidc', 'oidcAppended'];
    expect(await statuses()).toEqual([200, 200, third && 200]);
    const document = await world.fetch(tenant.server.origin + paths[0]);
    expect(await document.json()).toMatchObject({ issuer: tenant.server.origin + issuerPath });
  });

  it('lists what is offered, and nothing else', async () => {
    const document = async () =>
      (await world.fetch(server().server.origin + server().metadataPaths[0])).json() as Promise<object>;
    expect(await document()).toHaveProperty('registration_endpoint');
    expect(await document()).not.toHaveProperty('device_authorization_endpoint');
    Object.assign(server().settings, {
      registration: 'absent',
      deviceAuthorization: true,
      issInResponse: false,
    });
    expect(await document()).not.toHaveProperty('registration_endpoint');
    expect(await document()).toHaveProperty('device_authorization_endpoint');
    expect(await document()).toMatchObject({ authorization_response_iss_parameter_supported: false });
  });
});

describe('the authorization endpoint', () => {
  it.each([
    ['no PKCE', { code_challenge: '' }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['no resource', { resource: '' }, 'invalid_target'],
    ['a resource with a fragment', { resource: 'https://a.example/#b' }, 'invalid_target'],
  ])('redirects an error for %s', async (_what, parameters, error) => {
    const { redirect } = await authorized(world, await registered(world), parameters);
    expect(redirect.searchParams.get('error')).toBe(error);
    expect(redirect.searchParams.get('state')).toBe('the-state');
    expect(redirect.searchParams.has('code')).toBe(false);
  });

  it.each([
    ['an unknown client', { client_id: 'nobody' }],
    ['a foreign redirect URI', { redirect_uri: 'https://attacker.example/callback' }],
    ['another port', { redirect_uri: 'http://127.0.0.1:4712/callback' }],
  ])('redirects nowhere for %s', async (_what, parameters) => {
    expect((await authorized(world, await registered(world), parameters)).status).toBe(400);
  });

  it('takes any loopback port where that is set, and no other path', async () => {
    server().settings.redirectMatching = 'anyLoopbackPort';
    const config = await registered(world);
    const other = { redirect_uri: 'http://127.0.0.1:4712/callback' };
    expect((await authorized(world, config, other)).status).toBe(302);
    expect((await authorized(world, config, { redirect_uri: 'http://127.0.0.1:4712/x' })).status).toBe(400);
  });

  it('takes no other port of localhost, which is a name', async () => {
    server().settings.redirectMatching = 'anyLoopbackPort';
    const config = await registered(world, { redirect_uris: ['http://localhost:4711/callback'] });
    const status = async (port: number) =>
      (await authorized(world, config, { redirect_uri: `http://localhost:${port}/callback` })).status;
    expect([await status(4711), await status(4712)]).toEqual([302, 400]);
  });

  describe('given the URL of a client metadata document', () => {
    const url = 'https://client.example/about.json';
    const right = { client_id: url, client_name: 'Example', redirect_uris: [redirectUri] };

    /** What it answers to this client, which is hosted so. */
    async function answered(hosted: unknown, at = url) {
      Object.assign(server().settings, {
        clientIdMetadataDocuments: true,
        hosted: new Map([[at, typeof hosted === 'string' ? hosted : JSON.stringify(hosted)]]),
      });
      const config = await configured(world, server().addClient());
      return authorized(world, config, { client_id: at });
    }

    it('reads it, only where that is enabled', async () => {
      expect((await answered(right)).redirect.searchParams.has('code')).toBe(true);
      server().settings.clientIdMetadataDocuments = false;
      const config = await configured(world, server().addClient());
      expect((await authorized(world, config, { client_id: url })).status).toBe(400);
    });

    it.each([
      ['no JSON', '<h1>Welcome</h1>'],
      ['of another client_id', { ...right, client_id: `${url}?` }],
      ['without a name', { ...right, client_name: undefined }],
      ['without redirect URIs', { ...right, redirect_uris: [] }],
      [
        'of a redirect URI that is neither https nor local',
        { ...right, redirect_uris: ['http://a.example/'] },
      ],
      ['of another redirect URI', { ...right, redirect_uris: ['http://127.0.0.1:4712/callback'] }],
      ['of a client with a secret', { ...right, token_endpoint_auth_method: 'client_secret_post' }],
    ])('refuses a document %s', async (_what, document) => {
      expect((await answered(document)).status).toBe(400);
    });

    it('refuses a URL without a path, or where nothing is hosted', async () => {
      const root = 'https://client.example/';
      expect((await answered({ ...right, client_id: root }, root)).status).toBe(400);
      server().settings.hosted = new Map();
      const config = await configured(world, server().addClient());
      expect((await authorized(world, config, { client_id: url })).status).toBe(400);
    });
  });
});

describe('a registration', () => {
  it('is answered with 200 where the server errs so', async () => {
    server().settings.registrationStatus = 200;
    const answer = await world.fetch(`${server().server.origin}/register`, {
      method: 'POST',
      body: JSON.stringify({ redirect_uris: [redirectUri] }),
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ client_secret_expires_at: 0 });
  });

  it('is refused for a form of redirect URI that is not accepted, or for everybody', async () => {
    server().settings.acceptsRedirect = (uri) => uri.includes('localhost');
    await expect(registered(world)).rejects.toMatchObject({ error: 'invalid_redirect_uri' });
    await registered(world, { redirect_uris: ['http://localhost:4711/callback'] });
    server().settings.registration = 'closed';
    await expect(registered(world)).rejects.toMatchObject({ error: 'access_denied', status: 403 });
    expect(server().counts.registrations).toBe(1);
  });

  it('is refused with a malformed body', async () => {
    for (const body of ['', '[]', '{"redirect_uris":[]}', '{"redirect_uris":"x"}']) {
      const answer = await world.fetch(`${server().server.origin}/register`, { method: 'POST', body });
      expect(answer.status, body).toBe(400);
    }
  });
});
