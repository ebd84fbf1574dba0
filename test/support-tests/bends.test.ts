/** Every hook of the bent authorization server bends its own step and nothing else. */
import * as client from 'openid-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeJwt } from '../support/bent/authorization-server.ts';
import { json } from '../support/bent/server.ts';
import { type BentWorld, openBentWorld } from '../support/bent/world.ts';
import { authorized, configured, refreshed, registered, signedIn, visited } from './bent-client.ts';

let world: BentWorld;
beforeEach(async () => {
  world = await openBentWorld();
});
afterEach(async () => world.close());

const server = () => world.authorizationServer;
const bend = () => world.authorizationServer.bend;

describe('the metadata', () => {
  it('is what the hook makes of it', async () => {
    bend().metadata = (document) => ({ ...document, issuer: 'https://other.example' });
    await expect(registered(world)).rejects.toThrow('issuer');
    expect(server().counts.metadataRequests).toBe(1);
  });

  it('can be replaced by any answer at all', async () => {
    server().server.on('GET', server().metadataPaths[0] ?? '', { raw: 'nonsense' });
    await expect(registered(world)).rejects.toThrow('fetch failed');
  });
});

describe('the redirect', () => {
  it('carries the parameters that the hook leaves in it', async () => {
    bend().authorizeResponse = (parameters) => {
      parameters.delete('iss');
      parameters.append('state', 'another');
      parameters.set('extra', 'x y');
    };
    const { redirect } = await authorized(world, await registered(world));
    expect(redirect.searchParams.getAll('state')).toEqual(['the-state', 'another']);
    expect(redirect.searchParams.has('iss')).toBe(false);
    expect(redirect.search).toContain('extra=x+y');
  });

  it('can be an error, with state and iss as for a code', async () => {
    bend().authorizeError = () => ({ error: 'access_denied', error_description: '<b>no</b>' });
    const { redirect } = await authorized(world, await registered(world));
    expect(Object.fromEntries(redirect.searchParams)).toEqual({
      error: 'access_denied',
      error_description: '<b>no</b>',
      state: 'the-state',
      iss: server().issuer,
    });
    expect(server().counts.authorizations).toBe(0);
  });

  it('can be another answer', async () => {
    bend().authorizeAnswer = () => ({ status: 500 });
    expect((await authorized(world, await registered(world))).status).toBe(500);
  });
});

describe('the token endpoint', () => {
  it('can refuse before it does anything', async () => {
    const flow = await signedIn(world);
    bend().tokenRequest = () => ({ status: 503, headers: { 'retry-after': '7' } });
    await expect(refreshed(world, flow)).rejects.toThrow();
    bend().tokenRequest = undefined;
    await refreshed(world, flow);
    expect(server().counts).toMatchObject({ tokenRequests: 3, refreshes: 1, refreshReuses: 0 });
  });

  it('can hold a request', async () => {
    const flow = await signedIn(world);
    const gate = Promise.withResolvers<undefined>();
    const arrived = Promise.withResolvers<void>();
    bend().tokenRequest = () => {
      arrived.resolve();
      return gate.promise;
    };
    const waiting = refreshed(world, flow);
    await arrived.promise;
    expect(server().counts.refreshes).toBe(0);
    gate.resolve(undefined);
    expect((await waiting).access_token).toBeTypeOf('string');
  });

  it('can answer wrongly, or not at all, after it did the work', async () => {
    const flow = await signedIn(world);
    server().settings.rotation = 'same';
    bend().tokenAnswer = ({ status, headers, body }) => json({ ...body, token_type: 'mac' }, status, headers);
    await expect(refreshed(world, flow)).rejects.toMatchObject({ code: 'OAUTH_UNSUPPORTED_OPERATION' });
    bend().tokenAnswer = () => 'destroy';
    await expect(refreshed(world, flow)).rejects.toThrow('fetch failed');
    expect(server().counts).toMatchObject({ refreshes: 2, refusals: 0 });
  });

  it('can refuse in another shape', async () => {
    const flow = await signedIn(world);
    server().endGrants();
    bend().tokenError = () => ({ status: 401, body: '' });
    await expect(refreshed(world, flow)).rejects.toThrow('unexpected response');
    expect(server().counts.refusals).toBe(1);
  });

  it('can grant other scopes than were asked for', async () => {
    bend().grantedScopes = (asked) => [...asked, 'admin'];
    const { tokens } = await signedIn(world, undefined, { scope: 'read' });
    expect(tokens.scope).toBe('read admin');
    expect(server().verify(tokens.access_token)?.scopes).toEqual(['read', 'admin']);
  });

  it('can issue tokens with other claims, and the protected server goes by them', async () => {
    server().settings.accessTokenFormat = 'jwt';
    bend().accessTokenClaims = (claims) => ({ ...claims, aud: 'https://other.example' });
    bend().idTokenClaims = (claims) => ({ ...claims, sub: 'mallory' });
    const config = await registered(world);
    const { tokens } = await signedIn(world, config, { scope: 'openid read' });
    expect(decodeJwt(tokens.access_token).claims['aud']).toBe('https://other.example');
    expect(decodeJwt(tokens.id_token ?? '').claims['sub']).toBe('mallory');
    expect((await visited(world, tokens.access_token)).status).toBe(401);
  });
});

describe('the other endpoints', () => {
  it('bend their answers and their refusals', async () => {
    bend().registrationAnswer = ({ body }) => json({ ...body, client_id: '' }, 200);
    await expect(registered(world)).rejects.toThrow();
    Object.assign(bend(), {
      registrationAnswer: undefined,
      registrationError: () => ({ status: 400, body: '' }),
    });
    server().settings.registration = 'closed';
    await expect(registered(world)).rejects.toThrow();
    server().settings.deviceAuthorization = true;
    const config = await configured(world, server().addClient());
    bend().deviceAnswer = ({ body }) => json({ ...body, verification_uri: 'javascript:alert(1)' });
    const device = await client.initiateDeviceAuthorization(config, {});
    expect(device.verification_uri).toBe('javascript:alert(1)');
    bend().revocationAnswer = () => ({ status: 503 });
    await expect(client.tokenRevocation(config, 'x')).rejects.toThrow();
  });
});
