/** The bent authorization server, unbent: it keeps the rules, and refuses a client that breaks one. */
import * as client from 'openid-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeJwt } from '../support/bent-authorization-server.ts';
import { type BentWorld, openBentWorld } from '../support/bent-world.ts';
import {
  authorized,
  configured,
  redirectUri,
  refreshed,
  registered,
  signedIn,
  visited,
} from './bent-client.ts';

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

  it('takes the URL of a client metadata document only where that is enabled', async () => {
    const config = await configured(world, server().addClient());
    const document = { client_id: 'https://client.example/about.json' };
    expect((await authorized(world, config, document)).status).toBe(400);
    server().settings.clientIdMetadataDocuments = true;
    expect((await authorized(world, config, document)).redirect.searchParams.has('code')).toBe(true);
    expect((await authorized(world, config, { client_id: 'https://client.example/' })).status).toBe(400);
  });
});

describe('a code', () => {
  it('is good once; a second time ends what it gave', async () => {
    const flow = await signedIn(world);
    const again = client.authorizationCodeGrant(
      flow.config,
      flow.redirect,
      { pkceCodeVerifier: flow.verifier, expectedState: 'the-state' },
      { resource: world.protectedServer.url },
    );
    await expect(again).rejects.toMatchObject({ error: 'invalid_grant' });
    expect((await visited(world, flow.tokens.access_token)).status).toBe(401);
    await expect(refreshed(world, flow)).rejects.toMatchObject({ error: 'invalid_grant' });
    expect(server().counts.codeReuses).toBe(1);
  });

  it.each([
    ['another verifier', { code_verifier: 'x'.repeat(43) }, 'invalid_grant'],
    ['another redirect URI', { redirect_uri: 'http://127.0.0.1:1/callback' }, 'invalid_grant'],
    ['another resource', { resource: 'https://other.example/' }, 'invalid_target'],
    ['no resource', { resource: '' }, 'invalid_target'],
    ['another code', { code: 'x' }, 'invalid_grant'],
    ['a repeated code', { code: ['x', 'x'] }, 'invalid_request'],
    ['another grant type', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['another client', { client_id: 'nobody' }, 'invalid_client'],
  ])('is not redeemed with %s', async (_what, changes, error) => {
    const config = await registered(world);
    const { verifier, redirect } = await authorized(world, config);
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: config.clientMetadata().client_id,
      code: redirect.searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: verifier,
      resource: world.protectedServer.url,
    });
    for (const [name, value] of Object.entries(changes)) {
      body.delete(name);
      for (const one of [value].flat()) if (one !== '') body.append(name, one);
    }
    const answer = await world.fetch(`${server().server.origin}/token`, { method: 'POST', body });
    expect(await answer.json()).toMatchObject({ error });
    expect(server().counts).toMatchObject({ codesRedeemed: 0, refusals: 1 });
  });
});

describe('a refresh', () => {
  it('rotates, and a used refresh token ends the grant', async () => {
    const flow = await signedIn(world);
    const next = await refreshed(world, flow);
    expect(next.refresh_token).not.toBe(flow.tokens.refresh_token);
    await expect(refreshed(world, flow)).rejects.toMatchObject({ error: 'invalid_grant' });
    await expect(refreshed(world, { ...flow, tokens: next })).rejects.toMatchObject({
      error: 'invalid_grant',
    });
    expect((await visited(world, next.access_token)).status).toBe(401);
    expect(server().counts).toMatchObject({ refreshes: 1, refreshReuses: 1 });
  });

  it('keeps the old one, or gives no new one, where that is set', async () => {
    const flow = await signedIn(world);
    server().settings.rotation = 'keepOld';
    expect((await refreshed(world, flow)).refresh_token).toBeTypeOf('string');
    server().settings.rotation = 'same';
    expect((await refreshed(world, flow)).refresh_token).toBeUndefined();
    expect((await refreshed(world, flow)).access_token).toBeTypeOf('string');
  });

  it('narrows, never widens, and changes no resource', async () => {
    const flow = await signedIn(world, undefined, { scope: 'read write' });
    server().settings.rotation = 'same';
    const narrow = await refreshed(world, flow, { scope: 'write' });
    expect(narrow.scope).toBe('write');
    expect((await visited(world, narrow.access_token)).status).toBe(403);
    await expect(refreshed(world, flow, { scope: 'admin' })).rejects.toMatchObject({
      error: 'invalid_scope',
    });
    const elsewhere = refreshed(world, flow, { resource: 'https://other.example' });
    await expect(elsewhere).rejects.toMatchObject({ error: 'invalid_target' });
  });

  it('is possible only where a refresh token is given', async () => {
    server().settings.refreshTokens = 'offline_access';
    expect((await signedIn(world)).tokens.refresh_token).toBeUndefined();
    const offline = await signedIn(world, undefined, { scope: 'read offline_access' });
    expect(offline.tokens.refresh_token).toBeTypeOf('string');
    server().settings.refreshTokens = 'never';
    const never = await signedIn(world, undefined, { scope: 'read offline_access' });
    expect(never.tokens.refresh_token).toBeUndefined();
  });

  it('fails after all grants ended; after access tokens ended it does not', async () => {
    const flow = await signedIn(world);
    server().expireAccessTokens();
    expect((await visited(world, flow.tokens.access_token)).status).toBe(401);
    const next = await refreshed(world, flow);
    expect((await visited(world, next.access_token)).status).toBe(200);
    server().endGrants();
    await expect(refreshed(world, { ...flow, tokens: next })).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });
});

describe('time', () => {
  it('is the one that is injected', async () => {
    let now = Date.UTC(2030, 0, 1);
    server().settings.now = () => now;
    server().settings.accessTokenLifetime = 30;
    const { tokens } = await signedIn(world);
    now += 29_999;
    expect((await visited(world, tokens.access_token)).status).toBe(200);
    now += 1;
    expect((await visited(world, tokens.access_token)).status).toBe(401);
  });

  it('ends no token, and is in no answer, where no lifetime is set', async () => {
    server().settings.accessTokenLifetime = undefined;
    const { tokens } = await signedIn(world);
    expect(tokens).not.toHaveProperty('expires_in');
    expect((await visited(world, tokens.access_token)).status).toBe(200);
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

describe('a revocation', () => {
  it('of a refresh token ends the grant, of an access token only that', async () => {
    const first = await signedIn(world);
    await client.tokenRevocation(first.config, first.tokens.access_token);
    expect((await visited(world, first.tokens.access_token)).status).toBe(401);
    const next = await refreshed(world, first);
    await client.tokenRevocation(first.config, next.refresh_token ?? '');
    expect((await visited(world, next.access_token)).status).toBe(401);
    await client.tokenRevocation(first.config, 'unknown');
    expect(server().counts.revocations).toBe(2);
  });
});
