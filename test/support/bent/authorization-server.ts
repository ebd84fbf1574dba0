/**
 * A small, right authorization server (OAuth 2.1) whose every step a test can bend.
 *
 * Invariant: as it is opened it really checks PKCE, redirect URI, client, resource, one-time codes and rotation. Three
 * ways bend it: `settings` (another right server), `bend` (one step answers wrongly), `server.on` (any endpoint).
 */
import { json, openBentServer, type RecordedRequest } from './server.ts';
import { authorize } from './authorize.ts';
import { answerDeviceRequest, endDevice } from './device.ts';
import { type Json, newSigningKey } from './jwt.ts';
import { authMethods, noBentCounts } from './parties.ts';
import type { AuthMethod, BentClient, IdentityProvider, MetadataPlace, Parts } from './parties.ts';
import { answerIntrospection, answerRegistration, answerRevocation } from './registration.ts';
import type { AskedRegistration } from './registration.ts';
import { answerTokenRequest } from './token-endpoint.ts';
import { emptyTokenStore, idToken, isSpent, randomValue, validToken } from './token-store.ts';
import { metadataDocument, metadataPaths } from './metadata.ts';

export type { AuthMethod, BentClient, Bends, TokenVerdict } from './parties.ts';
export type { IssuedToken } from './token-store.ts';
export { type Json, newSigningKey, type SigningKey } from './jwt.ts';

export interface BentAuthorizationServerOptions extends Partial<Settings> {
  /** Comes after the origin in the issuer: '' (the default), '/', '/tenant', '/tenant/'. */
  readonly issuerPath?: string;
  /** Everything over http, for tests of the loopback exception. */
  readonly plain?: boolean;
}

/** Of a client that is added without one; a test that redirects for real gives its own. */
const exampleRedirect = 'http://127.0.0.1:4711/callback';

/** An hour, in seconds: no token ends during a test unless the test says so. */
const longLifetime = 3600;

function defaults() {
  return {
    /** Where the metadata is served; the other places answer 404. */
    metadataAt: ['oauth'] as readonly MetadataPlace[],
    /** `scopes_supported`; undefined leaves it out. Any scope is granted all the same. */
    scopesSupported: undefined as readonly string[] | undefined,
    /** Granted to a request without scope. */
    defaultScope: ['read'] as readonly string[],
    /** What stands between the scopes of a token answer; GitHub writes commas (RFC 6749 §3.3 has spaces). */
    scopeSeparator: ' ' as ' ' | ',',
    accessTokenFormat: 'opaque' as 'opaque' | 'jwt',
    /** Seconds; undefined: tokens don't end and answers have no `expires_in`. */
    accessTokenLifetime: longLifetime as number | undefined,
    /** `afterConsent`: for offline_access with `prompt=consent` only (OpenID Connect Core §11), as oidc-provider does. */
    refreshTokens: 'always' as 'always' | 'offline_access' | 'afterConsent' | 'never',
    /** A request with a `prompt` gets an error page, as better-auth answers select_account, or is sent back with an error. */
    failsOnPrompts: false as 'page' | 'redirect' | false,
    /** Seconds in which a used refresh token may come again, because its answer may be lost (RFC 9700 §4.14.2). */
    refreshGrace: 0,
    /** Revoking a grant ends all grants of its client and user. */
    sharesGrants: false,
    /** Issues tokens that are bound to the key of a proof, and wants its nonce in it (RFC 9449 §8). */
    dpop: false,
    /**
     * What a refresh with less scope changes: RFC 6749 §6 says the access token; `forGood`: the refresh token too;
     * `endsOthers`: each refresh ends the earlier access tokens.
     */
    narrowing: 'accessToken' as 'accessToken' | 'forGood' | 'endsOthers',
    /** RFC 8707: a code or refresh request without `resource` is refused. */
    resourceRequired: true,
    /** `auto`: a redirect at once; `page`: a consent page that a user clicks; `signIn`: before it, a page that asks for an account. */
    consent: 'auto' as 'auto' | 'page' | 'signIn',
    /** RFC 9207: `iss` in the redirect, and said in the metadata. */
    issInResponse: true,
    /** `exact` (OAuth 2.1), or any port on a loopback address, not on `localhost` (RFC 8252 §7.3). */
    redirectMatching: 'exact' as 'exact' | 'anyLoopbackPort',
    /** `absent`: no endpoint at all. */
    registration: 'open' as 'open' | 'absent',
    /** What a registered client gets whatever it asked for; undefined: what it asked for. */
    registeredAuthMethod: undefined as AuthMethod | undefined,
    /** The error of a registration that asks for this; undefined: it is accepted. */
    refusesRegistration: (() => undefined) as (asked: AskedRegistration) => string | undefined,
    /** A client gets the scopes that it registered, and else the default ones, whatever it asks for. */
    scopesByClient: false,
    authMethods: authMethods as readonly AuthMethod[],
    /** How it reads the halves of Basic credentials; RFC 6749 §2.3.1 has them form-encoded. */
    basicDecoding: 'lenient' as 'lenient' | 'strict' | 'none',
    /** Of a client that registers. */
    newSecret: randomValue,
    /** Takes the URL of a document as a client id, and reads what is hosted there. */
    clientIdMetadataDocuments: false,
    /** Refuses every document all the same, as a server does that can't fetch one. */
    refusesDocuments: false,
    /** What a client that isn't known gets: a page without a redirect, as OAuth 2.1 §4.1.2.1 has it, or a redirect with this error. */
    unknownClients: 'page' as 'page' | 'invalid_client' | 'unauthorized_client' | 'invalid_request',
    deviceAuthorization: false,
    /** Whose ID-JAGs are redeemed here. */
    identityProviders: [] as readonly IdentityProvider[],
    /** Platforms whose word on a workload is taken here. */
    platforms: [] as readonly IdentityProvider[],
    /** Who signs in. */
    subject: 'alice',
    /** Milliseconds since the epoch. */
    now: Date.now,
  };
}

/** Any of them may be changed at any time. */
export type Settings = ReturnType<typeof defaults>;

export async function openBentAuthorizationServer(options: BentAuthorizationServerOptions = {}) {
  const { issuerPath = '', plain = false, ...settings } = options;
  const server = await openBentServer({ plain });
  const parts: Parts = {
    server,
    /** Byte for byte as the metadata gives it. */
    issuer: server.base + issuerPath,
    settings: { ...defaults(), ...settings },
    bend: {},
    /** Live. */
    counts: { ...noBentCounts },
    clients: new Map(),
    store: emptyTokenStore(),
    key: newSigningKey(),
    gate: undefined,
    nonce: randomValue(),
  };
  server.now = () => parts.settings.now();
  addRoutes(parts, issuerPath);
  return {
    ...parts,
    jwk: parts.key.jwk,
    /** A pre-registered client; public, with one loopback redirect URI, unless told otherwise. */
    addClient(client?: Partial<BentClient>) {
      const added: BentClient = {
        clientId: `client-${parts.clients.size + 1}`,
        authMethod: 'none',
        redirectUris: [exampleRedirect],
        ...client,
      };
      parts.clients.set(added.clientId, added);
      return added;
    },
    /** An access token if it is good at this moment, for whatever resource. */
    verify: (token: string) => validToken(parts, token),
    /** All access tokens that were issued, in their order: what must not leak. */
    get accessTokens() {
      return [...parts.store.accessTokens.values()];
    },
    /** All refresh tokens that were issued, in their order. */
    get refreshTokens() {
      return [...parts.store.refreshTokens.keys()];
    },
    ...administration(parts),
    close: () => server.close(),
  };
}

/** It is an identity provider too: give it to another one's `identityProviders`. */
export type BentAuthorizationServer = Awaited<ReturnType<typeof openBentAuthorizationServer>>;

function administration(parts: Parts) {
  const { store } = parts;
  return {
    /** Access tokens end now; refresh tokens stay. */
    expireAccessTokens() {
      for (const token of store.accessTokens.values()) token.expiresAt = 0;
    },
    /** Everything ends: a refresh is `invalid_grant` from now on. */
    endGrants() {
      for (const { grant } of [...store.accessTokens.values(), ...store.refreshTokens.values()])
        grant.ended = true;
    },
    approveDevice: (userCode: string) => endDevice(parts, userCode, 'approved'),
    denyDevice: (userCode: string) => endDevice(parts, userCode, 'denied'),
    expireDevice: (userCode: string) => endDevice(parts, userCode, 'expired'),
    /** The next poll is answered `slow_down`. */
    slowDown: () => void (store.slowDowns = 1),
    /** An ID token of this identity provider, for enterprise-managed authorization. */
    idToken: (clientId: string, subject = parts.settings.subject) => idToken(parts, { clientId, subject }),
    /** Asked before each token request, and waited for; none lets all pass. */
    setTokenGate: (gate?: typeof parts.gate) => void (parts.gate = gate),
    /** True while this refresh token, as its holder has it, would be taken. */
    honours(refreshToken: string) {
      const known = store.refreshTokens.get(refreshToken);
      return known !== undefined && !known.grant.ended && !isSpent(parts, known);
    },
  };
}

function addRoutes(parts: Parts, issuerPath: string): void {
  const { server, settings, bend, counts } = parts;
  const places = metadataPaths(issuerPath);
  // Without a path two places are one.
  for (const path of new Set(Object.values(places))) {
    server.on('GET', path, (request: RecordedRequest) => {
      counts.metadataRequests += 1;
      if (!settings.metadataAt.some((place) => places[place] === path)) return undefined;
      const document: Json = metadataDocument(parts);
      return json(bend.metadata ? bend.metadata(document, request) : document);
    });
  }
  server.on('GET', '/jwks', () => json({ keys: [parts.key.jwk] }));
  server.on('GET', '/authorize', (request) => authorize(parts, request));
  server.on('POST', '/authorize', (request) => authorize(parts, request));
  server.on('POST', '/token', (request) => answerTokenRequest(parts, request));
  server.on('POST', '/register', (request) => answerRegistration(parts, request));
  server.on('POST', '/revoke', (request) => answerRevocation(parts, request));
  server.on('POST', '/introspect', (request) => answerIntrospection(parts, request));
  server.on('POST', '/device_authorization', (request) =>
    settings.deviceAuthorization ? answerDeviceRequest(parts, request) : undefined,
  );
}
