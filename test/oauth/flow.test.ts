/** The whole way of a public client, against a real authorization server and a real protected server. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Unreachable } from '../../src/base/errors.ts';
import { discoverAuthorizationServer } from '../../src/oauth/discovery/authorization-server.ts';
import type { AuthorizationServer } from '../../src/oauth/discovery/authorization-server.ts';
import { buildAuthorizationRequest } from '../../src/oauth/grants/authorization.ts';
import type { Http } from '../../src/oauth/base/http.ts';
import { probe } from '../../src/oauth/discovery/probe.ts';
import { discoverProtectedResource } from '../../src/oauth/discovery/protected-resource.ts';
import { chooseRegistration } from '../../src/oauth/client/registration.ts';
import { registerDynamically } from '../../src/oauth/client/dynamic-registration.ts';
import type { Registration } from '../../src/oauth/client/registration.ts';
import { revokeToken } from '../../src/oauth/grants/revocation.ts';
import { selectScope } from '../../src/oauth/base/scope.ts';
import { exchangeCode, refresh } from '../../src/oauth/grants/token.ts';
import type { TokenResponse } from '../../src/oauth/grants/token.ts';
import { openWorld } from '../support/world.ts';
import type { TestWorld } from '../support/world.ts';
import { refusalOf } from './refusal.ts';

interface SignedIn {
  readonly server: AuthorizationServer;
  readonly registration: Registration;
  readonly resource: string;
  readonly answer: TokenResponse;
}

const httpOf = (world: TestWorld): Http => ({
  fetch: world.fetch,
  now: Date.now,
  wall: Date.now,
  allowInsecureLoopback: false,
});

/** Receives the one redirect of a sign-in. */
async function loopback() {
  const { promise: received, resolve } = Promise.withResolvers<URL>();
  const listener = createServer((request, response) => {
    resolve(new URL(request.url ?? '/', 'http://127.0.0.1'));
    response.end('done');
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const close = (): void => {
    listener.close();
    listener.closeAllConnections();
  };
  return { redirectUri: `http://127.0.0.1:${port}/callback`, received, close };
}

async function signIn(world: TestWorld, requested?: string[], person = {}): Promise<SignedIn> {
  const http = httpOf(world);
  const endpoint = world.protectedServer.url;
  const { challenge } = await probe(endpoint, http);
  const resource = await discoverProtectedResource(endpoint, challenge, http);
  if (resource === undefined) throw new Error('the protected server has no metadata');
  const server = await discoverAuthorizationServer(resource.authorizationServers[0], http);
  if (server === undefined) throw new Error('the authorization server has no metadata');
  expect(chooseRegistration(server, {}).mechanism).toBe('dynamic');
  const registering = { redirectUris: ['http://127.0.0.1/callback'] as const, clientName: 'A test' };
  const { registration } = await registerDynamically(server, registering, http);
  const scope = selectScope({
    ...(challenge?.scope === undefined ? {} : { challenge: challenge.scope }),
    ...(requested === undefined ? {} : { requested }),
    ...(server.scopesSupported === undefined ? {} : { authorizationServerScopes: server.scopesSupported }),
  });
  const { redirectUri, received, close } = await loopback();
  try {
    const { url, started } = await buildAuthorizationRequest({
      server,
      registration,
      resource: resource.resource,
      redirectUri,
      ...(scope === undefined ? {} : { scope }),
    });
    await world.signIn(url, person);
    const answer = await exchangeCode({ started, server, registration, callbackUrl: await received }, http);
    return { server, registration, resource: resource.resource, answer };
  } finally {
    close();
  }
}

const refreshOf = (
  world: TestWorld,
  { server, registration, resource, answer }: SignedIn,
  scope?: string[],
) =>
  refresh(
    {
      server,
      registration,
      resource,
      refreshToken: answer.refreshToken ?? '',
      grantedScope: answer.scope,
      ...(scope === undefined ? {} : { scope }),
    },
    httpOf(world),
  );

async function statusWith(world: TestWorld, accessToken: string): Promise<number> {
  const response = await world.fetch(world.protectedServer.url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${accessToken}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  await response.body?.cancel();
  return response.status;
}

describe.each(['opaque', 'jwt'] as const)('a public client with %s access tokens', (accessTokenFormat) => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await openWorld({ accessTokenFormat });
  });
  afterAll(() => world.close());

  it('A-1 F-4: a client signs in, and the protected server accepts the token', async () => {
    const { answer } = await signIn(world, ['openid']);
    expect(answer).toMatchObject({ tokenType: 'Bearer', subject: { subject: 'alice' } });
    expect(answer.scope).toContain('notes:read');
    expect(await statusWith(world, answer.accessToken)).toBeLessThan(300);
  });

  it('T-1: a client refreshes, and each refresh token works once', async () => {
    const signedIn = await signIn(world);
    const next = await refreshOf(world, signedIn);
    expect(next.refreshToken).not.toBe(signedIn.answer.refreshToken);
    expect(await statusWith(world, next.accessToken)).toBeLessThan(300);
    expect((await refusalOf(() => refreshOf(world, signedIn))).reason).toBe('login_required');
  });

  it('a client gets a narrower token by a refresh', async () => {
    const signedIn = await signIn(world, ['notes:read', 'notes:write']);
    expect(await refreshOf(world, signedIn, ['notes:read'])).toMatchObject({
      scope: ['notes:read'],
      scopeStated: true,
    });
  });

  it('X-7: a client revokes its refresh token', async () => {
    const signedIn = await signIn(world);
    const token = signedIn.answer.refreshToken ?? '';
    const revocation = await revokeToken({ ...signedIn, token, hint: 'refresh_token' }, httpOf(world));
    expect(revocation).toBe('confirmed');
    expect((await refusalOf(() => refreshOf(world, signedIn))).reason).toBe('login_required');
  });

  it('T-3: a client keeps its refresh token while the server is unreachable', async () => {
    const signedIn = await signIn(world);
    world.failTokenRequests(1, { status: 503, retryAfter: 9 });
    const error = await refusalOf(() => refreshOf(world, signedIn));
    expect(error).toBeInstanceOf(Unreachable);
    expect(error.retryAfter).toBe(9);
    expect((await refreshOf(world, signedIn)).accessToken).toBeTruthy();
  });

  it('a sign-in that the person denies is access_denied', async () => {
    expect((await refusalOf(() => signIn(world, undefined, { deny: true }))).reason).toBe('access_denied');
  });
});

describe('a client that the server has forgotten', () => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());

  it('a client that the server has forgotten is refused because of its registration, not its token', async () => {
    const signedIn = await signIn(world);
    world.authorizationServer.forget('Client');
    expect((await refusalOf(() => refreshOf(world, signedIn))).reason).toBe('client_rejected');
  });
});
