/**
 * An OAuth client over openid-client, for the tests of the bent servers: it owes nothing to Keyturn's
 * own client. The servers approve by themselves, so that the redirect is read and nobody listens.
 */
import * as client from 'openid-client';
import type { BentClient } from '../support/bent/authorization-server.ts';
import type { BentWorld } from '../support/bent/world.ts';

export const redirectUri = 'http://127.0.0.1:4711/callback';

export interface Flow {
  readonly config: client.Configuration;
  /** The redirect as the browser would have followed it. */
  readonly redirect: URL;
  readonly verifier: string;
  readonly tokens: client.TokenEndpointResponse;
}

/** undici's fetch takes whatever openid-client sends; only the types' names differ. */
export function fetchOf(world: BentWorld): client.CustomFetch {
  return (url, options) => world.fetch(url, options);
}

/** A client of the world's authorization server that was entered by hand. */
export async function configured(
  world: BentWorld,
  added: BentClient,
  authentication: client.ClientAuth = client.None(),
  issuer = world.authorizationServer.issuer,
): Promise<client.Configuration> {
  return client.discovery(new URL(issuer), added.clientId, undefined, authentication, {
    algorithm: 'oauth2',
    [client.customFetch]: fetchOf(world),
  });
}

export async function registered(
  world: BentWorld,
  metadata: Record<string, client.JsonValue> = {},
): Promise<client.Configuration> {
  return client.dynamicClientRegistration(
    new URL(world.authorizationServer.issuer),
    {
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      ...metadata,
    },
    client.None(),
    { algorithm: 'oauth2', [client.customFetch]: fetchOf(world) },
  );
}

/** Everything up to the redirect, and what is needed to go on. An empty parameter is left out. */
export async function authorized(
  world: BentWorld,
  config: client.Configuration,
  parameters: Record<string, string> = {},
) {
  const verifier = client.randomPKCECodeVerifier();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: 'the-state',
    resource: world.protectedServer.settings.resource,
    ...parameters,
  });
  for (const [name, value] of Object.entries(parameters)) if (value === '') url.searchParams.delete(name);
  const response = await world.fetch(url, { redirect: 'manual' });
  const location = response.headers.get('location');
  return { verifier, status: response.status, redirect: new URL(location ?? 'about:blank') };
}

export async function signedIn(
  world: BentWorld,
  config?: client.Configuration,
  parameters: Record<string, string> = {},
): Promise<Flow> {
  const used = config ?? (await registered(world));
  const { verifier, redirect } = await authorized(world, used, parameters);
  const tokens = await client.authorizationCodeGrant(
    used,
    redirect,
    { pkceCodeVerifier: verifier, expectedState: 'the-state' },
    { resource: world.protectedServer.settings.resource },
  );
  return { config: used, redirect, verifier, tokens };
}

export async function refreshed(
  world: BentWorld,
  { config, tokens }: Flow,
  parameters: Record<string, string> = {},
): Promise<client.TokenEndpointResponse> {
  const { resource } = world.protectedServer.settings;
  return client.refreshTokenGrant(config, tokens.refresh_token ?? '', { resource, ...parameters });
}

/** The protected server's status and challenge for a token, or for none. */
export async function visited(world: BentWorld, token?: string, url = world.protectedServer.url) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await world.fetch(url, { headers, redirect: 'manual' });
  await response.body?.cancel();
  return { status: response.status, challenge: response.headers.get('www-authenticate') };
}
