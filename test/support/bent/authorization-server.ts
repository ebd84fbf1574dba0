/**
 * A small, right authorization server (OAuth 2.1) whose every step a test can bend.
 *
 * Invariant: as it is opened it keeps the rules: PKCE, redirect URI, client authentication, resource,
 * one-time codes and rotation are really checked. What is wrong in a test is what the test bent.
 *
 * Three ways to bend it, from mild to wild: `settings` (another server that is right too), `bend`
 * (one step answers wrongly), `server.on` (anything at all in place of an endpoint).
 */
import type { Certificates } from '../../../src/serve/certificate.ts';
import { type BentServer, json, openBentServer, type RecordedRequest } from './server.ts';
import { authorize } from './authorize.ts';
import { answerDeviceRequest, endDevice } from './device.ts';
import { type Json, newSigningKey, type SigningKey } from './jwt.ts';
import {
  type BentClient,
  type BentCounts,
  type Bends,
  type IdentityProvider,
  noBentCounts,
  type Parts,
  type Settings,
  type TokenVerdict,
} from './parties.ts';
import { answerIntrospection, answerRegistration, answerRevocation } from './registration.ts';
import { answerTokenRequest, knownGrantTypes } from './token-endpoint.ts';
import {
  emptyTokenStore,
  idToken,
  isSpent,
  type IssuedToken,
  randomValue,
  validToken,
} from './token-store.ts';
import { metadataDocument, metadataPaths } from './metadata.ts';

export type {
  AuthMethod,
  BentClient,
  BentCounts,
  Bends,
  JsonReply,
  MetadataPlace,
  Settings,
  TokenVerdict,
} from './parties.ts';
export type { IssuedToken } from './token-store.ts';
export { type Json, newSigningKey, type SigningKey } from './jwt.ts';

export interface BentAuthorizationServerOptions extends Partial<Settings> {
  /** Comes after the origin in the issuer: '' (the default), '/', '/tenant', '/tenant/'. */
  readonly issuerPath?: string;
  readonly certificates?: Certificates;
  /** Everything over http, for tests of the loopback exception. */
  readonly plain?: boolean;
  /** Serves on this one, which the caller closes; opens its own otherwise. */
  readonly server?: BentServer;
}

/** It is an identity provider too: give it to another one's `identityProviders`. */
export interface BentAuthorizationServer extends IdentityProvider {
  /** Byte for byte as the metadata gives it. */
  readonly issuer: string;
  readonly server: BentServer;
  readonly settings: Settings;
  readonly bend: Bends;
  /** Live. */
  readonly counts: Readonly<BentCounts>;
  readonly clients: Map<string, BentClient>;
  readonly key: SigningKey;
  /** A pre-registered client; public, with one loopback redirect URI, unless told otherwise. */
  addClient(client?: Partial<BentClient>): BentClient;
  /** An access token if it is good at this moment, for whatever resource. */
  verify(token: string): IssuedToken | undefined;
  /** All access tokens that were issued, in their order: what must not leak. */
  readonly accessTokens: readonly IssuedToken[];
  /** All refresh tokens that were issued, in their order. */
  readonly refreshTokens: readonly string[];
  /** Access tokens end now; refresh tokens stay. */
  expireAccessTokens(): void;
  /** Everything ends: a refresh is `invalid_grant` from now on. */
  endGrants(): void;
  approveDevice(userCode: string): void;
  denyDevice(userCode: string): void;
  expireDevice(userCode: string): void;
  /** The next poll is answered `slow_down`. */
  slowDown(): void;
  /** An ID token of this identity provider, for enterprise-managed authorization. */
  idToken(clientId: string, subject?: string): string;
  /** Asked before each token request, and waited for; none lets all pass. */
  setTokenGate(gate?: () => TokenVerdict | Promise<TokenVerdict>): void;
  /** True while this refresh token, as its holder has it, would be taken. */
  honours(refreshToken: string): boolean;
  close(): Promise<void>;
}

/** Of a client that is added without one; a test that redirects for real gives its own. */
const exampleRedirect = 'http://127.0.0.1:4711/callback';

/** An hour, in seconds: no token ends during a test unless the test says so. */
const longLifetime = 3600;

function defaults(): Settings {
  return {
    metadataAt: ['oauth'],
    scopesSupported: undefined,
    defaultScope: ['read'],
    scopeSeparator: ' ',
    accessTokenFormat: 'opaque',
    accessTokenLifetime: longLifetime,
    refreshTokens: 'always',
    failsOnPrompts: false,
    rotation: 'rotate',
    refreshGrace: 0,
    sharesGrants: false,
    dpop: false,
    narrowing: 'accessToken',
    resourceRequired: true,
    consent: 'auto',
    accounts: ['alice', 'bob'],
    issInResponse: true,
    redirectMatching: 'exact',
    registration: 'open',
    registeredAuthMethod: undefined,
    acceptsRedirect: () => true,
    acceptsGrants: () => true,
    acceptsScopes: () => true,
    scopesByClient: false,
    authMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    basicDecoding: 'lenient',
    newSecret: randomValue,
    clientIdMetadataDocuments: false,
    refusesDocuments: false,
    unknownClients: 'page',
    deviceAuthorization: false,
    grantTypes: knownGrantTypes,
    identityProviders: [],
    platforms: [],
    subject: 'alice',
    now: Date.now,
  };
}

export async function openBentAuthorizationServer(
  options: BentAuthorizationServerOptions = {},
): Promise<BentAuthorizationServer> {
  const { issuerPath = '', certificates, plain, server: given, ...settings } = options;
  const server =
    given ?? (await openBentServer({ ...(certificates && { certificates }), ...(plain && { plain }) }));
  const parts: Parts = {
    server,
    issuer: server.base + issuerPath,
    settings: { ...defaults(), ...settings },
    bend: {},
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
    addClient(client) {
      const added: BentClient = {
        clientId: `client-${parts.clients.size + 1}`,
        authMethod: 'none',
        redirectUris: [exampleRedirect],
        ...client,
      };
      parts.clients.set(added.clientId, added);
      return added;
    },
    verify: (token) => validToken(parts, token),
    get accessTokens() {
      return [...parts.store.accessTokens.values()];
    },
    get refreshTokens() {
      return [...parts.store.refreshTokens.keys()];
    },
    ...administration(parts),
    close: async () => (given === undefined ? server.close() : undefined),
  };
}

function administration(parts: Parts) {
  const { store } = parts;
  return {
    expireAccessTokens() {
      for (const token of store.accessTokens.values()) token.expiresAt = 0;
    },
    endGrants() {
      for (const { grant } of [...store.accessTokens.values(), ...store.refreshTokens.values()])
        grant.ended = true;
    },
    approveDevice: (userCode: string) => endDevice(parts, userCode, 'approved'),
    denyDevice: (userCode: string) => endDevice(parts, userCode, 'denied'),
    expireDevice: (userCode: string) => endDevice(parts, userCode, 'expired'),
    slowDown: () => void (store.slowDowns = 1),
    idToken: (clientId: string, subject = parts.settings.subject) => idToken(parts, { clientId, subject }),
    setTokenGate: (gate?: typeof parts.gate) => void (parts.gate = gate),
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
