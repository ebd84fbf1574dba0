/**
 * A complete OAuth client over openid-client, for tests of the world's servers alone: it owes nothing to
 * Keyturn's own client.
 */
import { createServer } from 'node:http';
import * as client from 'openid-client';
import type { CookieJar } from '../../demo/user-agent.ts';
import type { TestWorld } from './world.ts';

export interface SignInRequest {
  readonly scope?: string;
  readonly resource?: string;
  readonly account?: string;
  readonly deny?: boolean;
  readonly jar?: CookieJar;
}

export interface SignedIn {
  readonly config: client.Configuration;
  readonly tokens: client.TokenEndpointResponse;
  /** The redirect as the loopback address received it. */
  readonly redirect: URL;
}

/** A public native client, newly registered (RFC 7591, RFC 8252 §8.4). */
export async function register(world: TestWorld): Promise<client.Configuration> {
  return client.dynamicClientRegistration(
    new URL(world.authorizationServer.issuer),
    {
      client_name: 'A test',
      application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    client.None(),
    { algorithm: 'oauth2', [client.customFetch]: fetchOf(world) },
  );
}

/** Authorization code with PKCE, through the headless user agent to a listener of our own. */
export async function signIn(
  world: TestWorld,
  { scope, resource = world.protectedServer.resource, ...person }: SignInRequest = {},
  config?: client.Configuration,
): Promise<SignedIn> {
  const registered = config ?? (await register(world));
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const { redirectUri, received, close } = await listenForRedirect();
  try {
    const url = client.buildAuthorizationUrl(registered, {
      redirect_uri: redirectUri,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      resource,
      ...(scope === undefined ? {} : { scope }),
    });
    await world.signIn(url, person);
    const redirect = await received;
    const tokens = await client.authorizationCodeGrant(
      registered,
      redirect,
      { pkceCodeVerifier: verifier, expectedState: state },
      { resource },
    );
    return { config: registered, tokens, redirect };
  } finally {
    close();
  }
}

async function listenForRedirect() {
  const { promise, resolve } = Promise.withResolvers<URL>();
  const server = createServer((request, response) => {
    resolve(new URL(request.url ?? '/', redirectUri));
    response.end('done');
  });
  await new Promise<void>((listening) => {
    server.listen(0, '127.0.0.1', listening);
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const redirectUri = `http://127.0.0.1:${port}/callback`;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { redirectUri, received: promise, close };
}

function fetchOf(world: TestWorld): client.CustomFetch {
  return (url, options) => world.fetch(url, options);
}
