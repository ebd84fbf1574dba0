/**
 * How oidc-provider is set up.
 *
 * Invariant: PKCE with S256 for every client; a token only for a resource that is known here, for a short time and as a
 * JWT (RFC 9068); every refresh token is used once. Each callback that the provider would warn about on the terminal
 * has its own implementation.
 */
import type { ClientMetadata, Configuration, Grant, KoaContextWithOIDC } from 'oidc-provider';
import type { JsonWebKey } from 'node:crypto';
import { z } from 'zod';
import { consentPolicy, grantOf, unasked } from './consent-policy.ts';
import type { Consents } from './consents.ts';
import { isOriginOf } from './clients/browser-access.ts';
import { isTrustedHost, readDocument } from './clients/client-document.ts';
import type { GuardedFetch } from './clients/client-document.ts';
import type { ClientOptions, ResourceOptions, Settings } from './options.ts';
import { errorPage, pageHeaders } from './base/pages.ts';
import type { OidcProvider } from './base/peer.ts';
import { redirectProblem } from './clients/redirect.ts';
import { forwardingPolicy, isGrantLive, sessionClaim } from './forwarded-grants.ts';

/** Seconds. RFC 6749 §4.1.2 allows ten minutes at most; the exchange follows at once. */
const codeLifetime = 60;

/** Seconds that a person has for the pages. */
const interactionLifetime = 15 * 60;

/** Seconds in which a document that names no time is not fetched again, and the longest time that one may name. */
const documentCache = { min: 30, max: 24 * 60 * 60 } as const;

export const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
export const idJagProfile = 'urn:ietf:params:oauth:grant-profile:id-jag';

export interface ProviderParts {
  readonly settings: Settings;
  readonly adapter: NonNullable<Configuration['adapter']>;
  readonly keys: readonly JsonWebKey[];
  readonly cookieKeys: readonly string[];
  readonly fetch: GuardedFetch;
  readonly errors: OidcProvider['errors'];
  readonly interactionPolicy: OidcProvider['interactionPolicy'];
  readonly consents: Consents;
}

export function providerSettings(parts: ProviderParts): Configuration {
  const { settings, adapter, keys, cookieKeys } = parts;
  return {
    ...clientRules(parts),
    ...grantRules(parts),
    adapter,
    jwks: { keys: [...keys] as NonNullable<Configuration['jwks']>['keys'] },
    cookies: {
      keys: [...cookieKeys],
      long: { httpOnly: true, sameSite: 'lax', signed: true },
      short: { httpOnly: true, sameSite: 'lax', signed: true },
    },
    discovery:
      settings.assertionProviders.length > 0
        ? { authorization_grant_profiles_supported: [idJagProfile] }
        : {},
    features: features(parts),
    ttl: lifetimesOf(settings),
    renderError: (ctx, out, error) => {
      const said = explanation(error) ?? out.error_description ?? 'The request can’t be understood.';
      ctx.set(pageHeaders);
      ctx.body = errorPage(out.error, said);
    },
  };
}

/** Who a client is, and how it shows that. */
function clientRules(parts: ProviderParts): Configuration {
  const { settings, fetch, errors } = parts;
  return {
    clients: settings.clients.map((client) => enteredClient(client, settings.assertionProviders.length > 0)),
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientDefaults: {
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      id_token_signed_response_alg: 'ES256',
    },
    assertJwtClientAuthClaimsAndHeader: async (_ctx, { aud }) => {
      // RFC 7523 §3 lets an assertion name several servers. Each of them could use it here.
      const named = Array.isArray(aud) ? aud : [aud];
      if (named.length !== 1) throw new errors.InvalidClientAuth('the assertion must name this server only');
    },
    // Runs for every client, however it became known. The property itself is never there.
    extraClientMetadata: {
      properties: ['keyturn_check'],
      validator: (_ctx, _key, _value, metadata) => checkClient(metadata, parts),
    },
    clientBasedCORS: (_ctx, origin, client) => isOriginOf(origin, client.redirectUris ?? []),
    fetch: async (input, init) => fetchOfClient(fetch, input, init),
  };
}

/** What an authorization needs, and what it leads to. */
function grantRules({ settings, consents, errors, interactionPolicy }: ProviderParts): Configuration {
  const { accounts, issuer, resources } = settings;
  return {
    // Spec, Mandatory security requirements 1.
    pkce: { required: () => true },
    // An ID token in a redirect would need no verifier.
    responseTypes: ['code'],
    // Those of the protected servers, so that a registration may name them.
    scopes: ['openid', 'offline_access', ...new Set(resources.flatMap(({ scopes }) => Object.keys(scopes)))],
    claims: { openid: ['sub'] },
    findAccount: async (_ctx, sub, token) => {
      if (!(await accounts.isKnown(sub)) || (await isWithdrawn(consents, sub, token))) return undefined;
      if (!(await isGrantLive(accounts, token, errors))) return undefined;
      return { accountId: sub, claims: () => ({ sub }) };
    },
    extraTokenClaims: (_ctx, token) => sessionClaim(accounts, token),
    interactions: {
      policy: forwardingPolicy(consentPolicy(interactionPolicy), accounts, interactionPolicy),
      url: (_ctx, interaction) => `${pathOf(issuer)}/interaction/${interaction.uid}`,
    },
    extraParams: [unasked],
    // Spec, Mandatory security requirements 4.
    rotateRefreshToken: async ({ oidc }) => {
      // The provider compares it only after the token is used up, and a mistake must not cost the sign-in.
      if (!namesGranted(oidc)) throw new errors.InvalidTarget();
      await prolong(oidc.entities.Grant, settings);
      return true;
    },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: () => false,
    loadExistingGrant: async (ctx) => grantOf(ctx, settings, consents),
  };
}

/** A grant lives as long as its newest refresh token: it must not end one that is in use. Each tenth of its life costs a write. */
async function prolong(grant: Grant | undefined, { lifetimes, now }: Settings): Promise<void> {
  if (grant?.exp === undefined) return;
  const end = Math.floor(now() / 1000) + lifetimes.refreshToken;
  if (grant.exp > end - lifetimes.refreshToken / 10) return;
  grant.exp = end;
  await grant.save();
}

/** RFC 8707 §2.2: a refresh names no resource, or the one that its token was granted for. */
function namesGranted({ params, entities }: KoaContextWithOIDC['oidc']): boolean {
  const resource = params?.['resource'];
  if (resource === undefined || resource === '') return true;
  return typeof resource === 'string' && entities.RefreshToken?.resourceIndicators.has(resource) === true;
}

/** Whether this token was issued before the account withdrew its consent. Nothing else was issued since then. */
async function isWithdrawn(consents: Consents, account: string, token: unknown): Promise<boolean> {
  const { success, data } = heldToken.safeParse(token);
  return success && consents.isWithdrawn(account, data.clientId, data.iat);
}

/** A code or a refresh token. */
const heldToken = z.object({ clientId: z.string(), iat: z.number() });

function lifetimesOf({ lifetimes }: Settings): NonNullable<Configuration['ttl']> {
  return {
    AccessToken: lifetimes.accessToken,
    ClientCredentials: lifetimes.accessToken,
    AuthorizationCode: codeLifetime,
    Grant: lifetimes.refreshToken,
    IdToken: lifetimes.accessToken,
    Interaction: interactionLifetime,
    RefreshToken: lifetimes.refreshToken,
    Session: lifetimes.session,
  };
}

function features({ settings, errors }: ProviderParts): NonNullable<Configuration['features']> {
  const { registration, resources, lifetimes, clientDocuments } = settings;
  return {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    // Anybody could fill the storage by it.
    pushedAuthorizationRequests: { enabled: false },
    clientCredentials: { enabled: settings.clients.some(({ isMachine }) => isMachine) },
    registration: {
      enabled: registration !== 'off',
      ...(typeof registration === 'object' ? { initialAccessToken: registration.initialAccessToken } : {}),
      issueRegistrationAccessToken: true,
    },
    // RFC 7592: a client reads, changes and removes its own registration.
    registrationManagement: { enabled: registration !== 'off', rotateRegistrationAccessToken: true },
    clientIdMetadataDocument: {
      enabled: clientDocuments !== 'none',
      ack: 'draft-02',
      allowFetch: (_ctx, url) => isTrustedHost(url, clientDocuments),
      cacheDuration: documentCache,
    },
    // RFC 7009 §2.1: a client revokes its own tokens only.
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    resourceIndicators: {
      enabled: true,
      // A client of an earlier revision names none. With one protected server there is no doubt which it means.
      defaultResource: () => {
        const [only, ...others] = resources;
        if (only === undefined || others.length > 0)
          throw new errors.InvalidTarget('the resource parameter is missing');
        return only.resource;
      },
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, uri) => {
        const known = resources.find(({ resource }) => resource === uri);
        // RFC 8707 §2. Compared as it was sent, byte for byte.
        if (!known) throw new errors.InvalidTarget();
        return {
          audience: known.resource,
          scope: Object.keys(known.scopes).join(' '),
          accessTokenTTL: lifetimes.accessToken,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        };
      },
    },
  };
}

/** What a request for no scope gets (RFC 6749 §3.3). */
export function defaultScopesOf(resource: ResourceOptions): readonly string[] {
  return resource.defaultScopes ?? Object.keys(resource.scopes);
}

/** The members of a JWK that only its owner may know, of any kind of key (RFC 7518 §6.2.2, §6.3.2, §6.4.1; AKP). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

/** Characters of a client's own name: it stands on the consent page. */
const maxClientName = 100;

function checkClient(metadata: ClientMetadata, { settings, errors }: ProviderParts): void {
  const { client_id: clientId, client_name: name, grant_types: grants = [] } = metadata;
  // The page shows the host of such an identifier, which it knows by this beginning.
  if (/^https:/i.test(clientId) && !clientId.startsWith('https://'))
    throw new errors.InvalidClientMetadata('client_id must begin with https:// in lower case');
  if (name !== undefined && name.length > maxClientName)
    throw new errors.InvalidClientMetadata(`client_name must have at most ${maxClientName} characters`);
  // RFC 7591 §2 lets a server leave it out. The person consents to each scope, and a step-up must stay possible.
  delete metadata.scope;
  // What needs no person is for clients that the operator entered.
  const isEntered = settings.clients.some((client) => client.clientId === clientId);
  const allowed = ['authorization_code', 'refresh_token', jwtBearer];
  if (!isEntered && !grants.every((grant) => allowed.includes(grant)))
    throw new errors.InvalidClientMetadata(`grant_types must be of: ${allowed.slice(0, 2).join(', ')}`);
  for (const uri of metadata.redirect_uris ?? []) {
    const problem = redirectProblem(uri);
    if (problem !== undefined) throw new errors.InvalidRedirectUri(problem);
  }
  // The provider checks this only for keys that it knows, and would keep the others.
  for (const key of metadata.jwks?.keys ?? []) {
    if (privateMembers.some((member) => member in key))
      throw new errors.InvalidClientMetadata('jwks must hold public keys only');
  }
}

function enteredClient(
  { clientId, name, redirectUris = [], clientSecret, keys, isMachine }: ClientOptions,
  acceptsAssertions: boolean,
): ClientMetadata {
  const isInteractive = redirectUris.length > 0;
  return {
    client_id: clientId,
    // A native client's https redirects must not name this machine; a program with a certificate for it is a web
    // client.
    ...(redirectUris.every((uri) => uri.startsWith('https:')) ? { application_type: 'web' as const } : {}),
    ...(name === undefined ? {} : { client_name: name }),
    ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
    ...(keys === undefined
      ? {}
      : { jwks: { keys: [...keys] as NonNullable<ClientMetadata['jwks']>['keys'] } }),
    token_endpoint_auth_method:
      keys !== undefined ? 'private_key_jwt' : clientSecret === undefined ? 'none' : 'client_secret_basic',
    grant_types: [
      ...(isInteractive ? ['authorization_code', 'refresh_token'] : []),
      ...(isMachine ? ['client_credentials'] : []),
      ...(acceptsAssertions ? [jwtBearer] : []),
    ],
    response_types: isInteractive ? ['code'] : [],
    redirect_uris: [...redirectUris],
  };
}

/** Everything that the provider fetches was named by a client. */
async function fetchOfClient(
  fetch: GuardedFetch,
  input: URL | string | Request,
  init: RequestInit | undefined,
): Promise<Response> {
  const target = input instanceof Request ? input.url : String(input);
  const answer = await fetch(target, {
    ...(init?.method === undefined ? {} : { method: init.method }),
    headers: new Headers(init?.headers),
    ...(init?.signal ? { signal: init.signal } : {}),
  });
  if (answer.status !== 200) return answer;
  const text = await answer.text();
  // Key sets come this way too, without this header.
  const isDocument = new Headers(init?.headers).get('accept') === 'application/json';
  if (!isDocument) return new Response(text, { status: 200, headers: answer.headers });
  const document = readDocument(text, answer.headers.get('content-type'));
  return new Response(JSON.stringify(document), { status: 200, headers: answer.headers });
}

/** What we know better than the provider's own words. */
function explanation(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'reason' in cause ? cause.message : undefined;
}

/** The path of an issuer; empty for one without. */
export function pathOf(issuer: string): string {
  return new URL(issuer).pathname.replace(/\/$/, '');
}
