/**
 * What the tokens of an issuer look like: which claims hold the scopes and the client, which audiences name this
 * server, and what tells an access token from an ID token. RFC 9068's names come first; presets know what the usual
 * issuers send instead.
 *
 * Invariant: a shape only says where to look. Signature, issuer, audience and expiry are checked for each token, and
 * a token that may be an ID token is rejected.
 */
import { z } from 'zod';
import { callable } from '../base/option.ts';
import { Refusal } from '../base/refusal.ts';
import { readScope } from '../../../oauth/base/scope.ts';

export type IssuerPreset = 'auth0' | 'cognito' | 'entra' | 'google' | 'keycloak' | 'okta' | 'workos';

export type Claims = Readonly<Record<string, unknown>>;

export interface IssuerTokens {
  /** What the issuer is known to send (docs/servers/protected-server.md). */
  readonly preset?: IssuerPreset;
  /** Audiences of this server beside its resource, such as the application id that an issuer writes instead. */
  readonly audience?: string | readonly string[];
  /** Names of the claims that hold scopes, or a function that reads them. `scope` and `scp` unless given. */
  readonly scopes?: string | readonly string[] | ((claims: Claims) => readonly string[]);
  /** Names of the claims that may hold the client id, in order. `client_id`, `azp`, `appid` and `cid` unless given. */
  readonly client?: string | readonly string[];
}

/** By issuer; or a function that knows each issuer that is trusted, and answers undefined for all others. */
export type IssuersOption =
  | Readonly<Record<string, IssuerTokens | IssuerPreset>>
  | ((issuer: string) => IssuerTokens | IssuerPreset | undefined);

const name = z.string().min(1);
/** One text, or several. */
export const names = z.union([name.transform((one) => [one]), z.array(name).nonempty()]);
const presetName = z.enum(['auth0', 'cognito', 'entra', 'google', 'keycloak', 'okta', 'workos']);

/** Of one issuer, as the options give it; a name alone is that preset. */
export const issuerTokens = z.preprocess(
  (value) => (typeof value === 'string' ? { preset: value } : value),
  z.strictObject({
    preset: presetName.optional(),
    audience: names.optional(),
    scopes: z.union([names, callable<(claims: Claims) => readonly string[]>()]).optional(),
    client: names.optional(),
  }),
);

export interface TokenShape {
  /** Audiences beside the resource. */
  readonly audiences: readonly string[];
  /** The claim that says whom the token is for, if there is no `aud`. */
  readonly audienceClaim: string | undefined;
  readonly scopesOf: (claims: Claims) => string[];
  readonly clientOf: (claims: Claims) => string | undefined;
  /** Of a token whose header doesn't say what it is. */
  readonly isAccessToken: (claims: Claims) => boolean;
}

interface Preset {
  readonly scopes?: readonly string[];
  readonly client?: readonly string[];
  readonly audienceClaim?: string;
  readonly isAccessToken?: (claims: Claims) => boolean;
}

/** Where an access token of theirs has its scopes and its client, and what tells it from an ID token. */
const presets: Readonly<Record<IssuerPreset, Preset>> = {
  // "Access token claims reference" of the Microsoft identity platform: scp is of a user, roles of an app alone.
  entra: {
    scopes: ['scp', 'roles'],
    client: ['azp', 'appid'],
    isAccessToken: (claims) => has(claims, 'azp', 'appid') && has(claims, 'scp', 'roles'),
  },
  // "Validate access tokens" of Okta: custom authorization servers; those of the org's own can't be checked.
  okta: { scopes: ['scp'], client: ['cid'], isAccessToken: (claims) => has(claims, 'cid') },
  // "Access token profiles" of Auth0: its own profile has azp, the RFC 9068 one has client_id.
  auth0: {
    scopes: ['scope'],
    client: ['client_id', 'azp'],
    isAccessToken: (claims) => has(claims, 'azp') && isNoIdToken(claims),
  },
  // Keycloak writes what a token is into the claim typ; older ones put the nonce into access tokens, too.
  keycloak: {
    scopes: ['scope'],
    client: ['client_id', 'azp'],
    isAccessToken: ({ typ }) => typ === 'Bearer' || typ === 'DPoP',
  },
  // "Understanding the access token" of Amazon Cognito: without resource binding there is a client_id and no aud.
  cognito: {
    scopes: ['scope'],
    client: ['client_id'],
    audienceClaim: 'client_id',
    isAccessToken: (claims) => claims['token_use'] === 'access',
  },
  // Google's access tokens are opaque. What a service account gets for an audience is signed, and has no scopes.
  google: { scopes: [], client: ['azp'], isAccessToken: (claims) => !has(claims, 'nonce', 'at_hash') },
  // "Model Context Protocol" of WorkOS AuthKit: the resource is the audience.
  workos: { scopes: ['scope'], client: ['client_id', 'azp'] },
};

/** RFC 9068's own names, and those that stand for them elsewhere. */
export function shapeOf(
  { preset, audience, scopes, client }: z.output<typeof issuerTokens> = {},
  resource: string,
): TokenShape {
  const known = preset === undefined ? {} : presets[preset];
  const scopeClaims = scopes ?? known.scopes ?? ['scope', 'scp'];
  const namesOf = (found: string[], { aud }: Claims): string[] =>
    preset === 'entra' ? found.flatMap((scope) => [scope, ...askedNames(scope, aud, resource)]) : found;
  const clientClaims = client ?? known.client ?? ['client_id', 'azp', 'appid', 'cid'];
  return {
    audiences: [...(audience ?? []), ...(preset === 'entra' ? urisOf(audience ?? []) : [])],
    audienceClaim: known.audienceClaim,
    scopesOf: (claims) =>
      typeof scopeClaims === 'function'
        ? statedScopes(scopeClaims, claims)
        : [...new Set(scopeClaims.flatMap((claim) => namesOf(scopesIn(claims[claim]), claims)))],
    clientOf: (claims) => clientClaims.map((claim) => claims[claim]).find(isText),
    isAccessToken: known.isAccessToken ?? isNoIdToken,
  };
}

/**
 * Entra ID: a client asks for a scope below the URI of the application, and the token has its last part only. The URI
 * is `api://` and the application id, the one that stands as the audience, or that of this server.
 */
function askedNames(scope: string, aud: unknown, resource: string): string[] {
  return [...new Set([...urisOf([aud].flat().filter(isText)), resource])].map(
    (uri) => `${uri.replace(/\/$/, '')}/${scope}`,
  );
}

/** Of an application: unless somebody chose another one, it is made of its id. */
function urisOf(audiences: readonly string[]): string[] {
  return audiences.map((one) => (one.includes('://') ? one : `api://${one}`));
}

/** A function of the author's meets whatever the token has. */
function statedScopes(read: (claims: Claims) => unknown, claims: Claims): string[] {
  try {
    return scopesIn(read(claims));
  } catch {
    throw new Refusal('token_claims');
  }
}

/** A text with spaces between (RFC 9068 §2.2.3), or a list. */
export function scopesIn(value: unknown): string[] {
  const texts = Array.isArray(value) ? value : [value];
  return texts.filter(isText).flatMap(readScope);
}

/**
 * OpenID Connect Core §2: an ID token may have a nonce and hashes, and its audience is the client itself, which `azp`
 * names. Some issuers say by `token_use` or `typ` what a token is. A logout token has `events`.
 */
function isNoIdToken(claims: Claims): boolean {
  if (has(claims, 'nonce', 'at_hash', 'c_hash', 's_hash', 'events')) return false;
  const use = claims['token_use'] ?? claims['typ'];
  if (isText(use) && !/^(?:access(?:_token)?|bearer|dpop|(?:at\+)?jwt)$/i.test(use)) return false;
  const { azp, aud } = claims;
  return azp === undefined || [aud].flat().some((one) => one !== azp);
}

function has(claims: Claims, ...anyOf: readonly string[]): boolean {
  return anyOf.some((claim) => claims[claim] !== undefined);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
