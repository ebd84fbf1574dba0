/**
 * How oidc-provider is set up: a public-client authorization server of the strict kind.
 *
 * Invariant: PKCE with S256 for everybody, rotation of every refresh token with reuse detection, a
 * token only for a resource that is known here. Each callback that the provider would warn about on
 * the terminal has its own implementation.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { type Configuration, errors, type ResourceServer } from 'oidc-provider';
import { errorPage, pageHeaders } from './pages.ts';
import type { ProviderStore } from './provider-store.ts';

/** An MCP server that tokens can be asked for. */
export interface KnownResource {
  /** The canonical URI, exactly as clients must send it. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Granted to a request that names no scope (RFC 6749 §3.3). */
  readonly defaultScopes: readonly string[];
}

/** How an MCP server reaches the introspection endpoint. */
export interface IntrospectionAccess {
  readonly endpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface ConfigurationInput {
  readonly store: ProviderStore;
  readonly resources: ReadonlyMap<string, KnownResource>;
  readonly introspection: IntrospectionAccess;
  readonly accounts: readonly string[];
  /** Seconds. */
  readonly accessTokenLifetime: number;
  readonly accessTokenFormat: 'opaque' | 'jwt';
  readonly refreshTokens: 'always' | 'offline_access' | 'never';
  readonly scopes: readonly string[];
  /** Its proofs must carry a nonce of the provider (RFC 9449 §8). */
  readonly wantsNonces: boolean;
}

/** Seconds. Longer than any world runs: what ends is ended on purpose, so that tests need no clock. */
const longLifetime = 14 * 24 * 60 * 60;

/** Seconds. RFC 6749 §4.1.2 allows ten minutes at most; the exchange follows at once. */
const codeLifetime = 60;

/** Seconds that a person has for the forms. */
const interactionLifetime = 60 * 60;

export function providerConfiguration(input: ConfigurationInput): Configuration {
  return {
    adapter: (kind: string) => input.store.adapter(kind),
    jwks: { keys: [signingKey()] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    clients: [introspectionClient(input.introspection)],
    // Elliptic keys are made in a millisecond; RSA ones, the default, take a tenth of a second.
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientDefaults: { application_type: 'native', id_token_signed_response_alg: 'ES256' },
    // A token's lifetime is exact here: one machine has one clock.
    clockTolerance: 0,
    pkce: { required: () => true },
    scopes: ['openid', 'offline_access', ...input.scopes],
    // A person of the demo is a subject and nothing else.
    claims: { openid: ['sub'] },
    findAccount: (_ctx, sub) =>
      input.accounts.includes(sub) ? { accountId: sub, claims: () => ({ sub }) } : undefined,
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    features: features(input),
    // RFC 9700 §4.14: rotation always; presenting a used token again ends its grant.
    rotateRefreshToken: true,
    issueRefreshToken: (_ctx, client, source) =>
      client.grantTypeAllowed('refresh_token') &&
      (input.refreshTokens === 'always' ||
        (input.refreshTokens === 'offline_access' && source.scopes.has('offline_access'))),
    expiresWithSession: () => false,
    // One grant for each authorization, never the session's earlier one.
    loadExistingGrant: async (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId;
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId);
    },
    clientBasedCORS: () => false,
    ttl: {
      AccessToken: input.accessTokenLifetime,
      AuthorizationCode: codeLifetime,
      Grant: longLifetime,
      IdToken: longLifetime,
      Interaction: interactionLifetime,
      RefreshToken: longLifetime,
      Session: longLifetime,
    },
    renderError: (ctx, out) => {
      ctx.set(pageHeaders);
      ctx.body = errorPage(out.error, out.error_description ?? '');
    },
  };
}

function features(input: ConfigurationInput): NonNullable<Configuration['features']> {
  return {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    dPoP: input.wantsNonces
      ? { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true }
      : { enabled: true },
    registration: { enabled: true, issueRegistrationAccessToken: false },
    // RFC 7009 §2.1: a client revokes its own tokens only.
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    // RFC 7662 §4: the MCP server asks, and a client about its own tokens.
    introspection: {
      enabled: true,
      allowedPolicy: (_ctx, client, token) =>
        client.clientId === input.introspection.clientId || token.clientId === client.clientId,
    },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_ctx, resource) => resourceServer(input, resource),
    },
  };
}

/** RFC 8707 §2: an unknown resource is `invalid_target`. Compared as it is sent, byte for byte. */
function resourceServer(input: ConfigurationInput, resource: string): ResourceServer {
  const known = input.resources.get(resource);
  if (!known) throw new errors.InvalidTarget();
  return {
    audience: known.resource,
    scope: known.scopes.join(' '),
    accessTokenTTL: input.accessTokenLifetime,
    accessTokenFormat: input.accessTokenFormat,
    jwt: { sign: { alg: 'ES256' } },
  };
}

/** It only introspects: no grant, no redirect. */
function introspectionClient(access: IntrospectionAccess) {
  return {
    client_id: access.clientId,
    client_secret: access.clientSecret,
    application_type: 'web' as const,
    token_endpoint_auth_method: 'client_secret_basic' as const,
    grant_types: [],
    response_types: [],
    redirect_uris: [],
  };
}

function signingKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' };
}
