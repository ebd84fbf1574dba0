/** Codes, tokens, refreshes and revocation at the bent authorization server, unbent. */
import * as client from 'openid-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BentWorld, openBentWorld } from '../support/bent/world.ts';
import { authorized, redirectUri, refreshed, registered, signedIn, visited } from './bent-client.ts';

let world: BentWorld;
beforeEach(async () => {
  world = await openBentWorld();
});
afterEach(async () => world.close());

const server = () => world.authorizationServer;

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
  it('is refused to a client that did not register this grant', async () => {
    const config = await registered(world, { grant_types: ['authorization_code'] });
    const flow = await signedIn(world, config);
    await expect(refreshed(world, flow)).rejects.toMatchObject({ error: 'unauthorized_client' });
  });

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

describe('the scopes of an answer', () => {
  it('have commas between them where that is set', async () => {
    server().settings.scopeSeparator = ',';
    server().bend.grantedScopes = () => ['read', 'write'];
    expect((await signedIn(world)).tokens.scope).toBe('read,write');
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
