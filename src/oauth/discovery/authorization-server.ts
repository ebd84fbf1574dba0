/**
 * The metadata that an authorization server publishes (RFC 8414, OpenID Connect Discovery 1.0).
 *
 * Invariant: metadata makes an `AuthorizationServer` only if it states the expected issuer, has secure endpoints, and,
 * with an authorization endpoint, offers PKCE with S256. The user may waive the first and the last (exceptions.ts).
 */
import type { JsonObject } from 'openid-client';
import { z } from 'zod';
import { quoted, quotedWithheld, RuleRefusal, shellWord, Unreachable } from '../../base/errors.ts';
import { signInPageHint, type Http } from '../base/http.ts';
import { firstMetadata, textList, type FoundDocument } from './metadata-document.ts';
import type { Exceptions } from '../base/exceptions.ts';
import { proofAlgorithm } from '../base/proof-algorithm.ts';
import { maxUrlLength } from '../base/resource.ts';
import { readScope } from '../base/scope.ts';
import { requireSecureUrl } from '../base/secure-url.ts';

/** The part of a server's metadata that requests to its endpoints need. */
export interface TokenServer {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
  readonly deviceAuthorizationEndpoint?: string;
  /** The document as the server sent it. The OAuth library reads further fields from it. */
  readonly metadata: JsonObject;
}

export interface AuthorizationServer extends TokenServer {
  /** RFC 8414 §2: absent if no grant type of the server uses it. Then no user can sign in by a page. */
  readonly authorizationEndpoint?: string;
  readonly registrationEndpoint?: string;
  readonly scopesSupported?: readonly string[];
  readonly grantTypesSupported?: readonly string[];
  /** `authorization_grant_profiles_supported`; undefined if the metadata doesn't state it. */
  readonly grantProfilesSupported?: readonly string[];
  readonly tokenEndpointAuthMethods?: readonly string[];
  /** RFC 9207 §3: if it is true, an authorization response without `iss` is refused. */
  readonly issParameterSupported: boolean;
  readonly clientIdMetadataDocumentSupported: boolean;
  /** Set if it says that it binds tokens to a key of ours (RFC 9449 §5.1). */
  readonly bindsTokens?: true;
  /** Set if the server has no metadata: these are the default endpoints. */
  readonly isDefault?: true;
  /** Set if there is no authorization endpoint and S256 isn't listed: no user signs in there (`requirePkceForUser`). */
  readonly lacksPkce?: true;
  /** Until when this may be kept: milliseconds, steady. Undefined if that is not known. */
  readonly freshUntil?: number;
}

const authorizationServerSchema = z.looseObject({
  issuer: z.string().min(1),
  authorization_endpoint: z.string().optional(),
  token_endpoint: z.string(),
  registration_endpoint: z.string().optional(),
  revocation_endpoint: z.string().optional(),
  device_authorization_endpoint: z.string().optional(),
  grant_types_supported: textList.optional(),
  authorization_grant_profiles_supported: textList.optional(),
  scopes_supported: textList.optional(),
  code_challenge_methods_supported: textList.optional(),
  token_endpoint_auth_methods_supported: textList.optional(),
  // The OAuth library reads it to check an ID token.
  id_token_signing_alg_values_supported: textList.optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
  client_id_metadata_document_supported: z.boolean().optional(),
  // An unreadable value counts as absent: then tokens are Bearer tokens.
  dpop_signing_alg_values_supported: textList.optional().catch(undefined),
});

type Document = z.infer<typeof authorizationServerSchema>;

/** Undefined if every location is absent. Throws issuer_mismatch, pkce_unsupported, metadata_invalid, Unreachable. */
export async function discoverAuthorizationServer(
  issuer: string,
  http: Http,
  exceptions: Exceptions = {},
): Promise<AuthorizationServer | undefined> {
  const locations = authorizationServerLocations(requireIssuer(issuer, http));
  const expected = { identifier: issuer, issuers: spellings(issuer) };
  const found = await publishedMetadata(expected, locations, http, exceptions);
  return found && processAuthorizationServer(expected, found, http, exceptions);
}

/** Undefined only if the server refuses every location: a web page in its place may be a maintenance page. */
export async function publishedMetadata(
  { identifier, issuers }: ExpectedIssuer,
  locations: readonly string[],
  http: Http,
  exceptions: Exceptions,
  headers: Readonly<Record<string, string>> = {},
): Promise<FoundDocument | undefined> {
  const needed = { field: 'issuer', values: exceptions.issuerMismatch === true ? undefined : issuers };
  const found = await firstMetadata(locations, needed, http, 'authorization_server_unreachable', headers);
  if (found !== 'page') return found === 'absent' ? undefined : found;
  throw new Unreachable(
    'authorization_server_unreachable',
    `${quoted(identifier)} answers with a web page where its metadata should be.`,
    { rule: 'RFC 8414 §3', hint: signInPageHint },
  );
}

/**
 * The metadata that names this very issuer, byte for byte. Undefined: it publishes none. Throws issuer_mismatch,
 * metadata_invalid, insecure_url, or Unreachable (authorization_server_unreachable).
 */
export async function metadataOfIssuer(issuer: string, http: Http): Promise<FoundDocument | undefined> {
  const locations = authorizationServerLocations(requireIssuer(issuer, http));
  const needed = { field: 'issuer', values: [issuer] };
  const found = await firstMetadata(locations, needed, http, 'authorization_server_unreachable');
  if (typeof found === 'string') return undefined;
  requireExpectedIssuer({ identifier: issuer, issuers: [issuer] }, found.json, {});
  return found;
}

/**
 * RFC 8414 §3.1: both spellings of an issuer without a path have one document. What it states counts, byte for byte.
 */
function spellings(issuer: string): readonly string[] {
  const { origin } = new URL(issuer);
  return [origin, `${origin}/`].includes(issuer) ? [origin, `${origin}/`] : [issuer];
}

export function requireIssuer(issuer: string, http: Pick<Http, 'allowInsecureLoopback'>): URL {
  const url = requireSecureUrl(issuer, 'the issuer', http);
  // Lists and cards show each issuer whole.
  if (issuer.length > maxUrlLength)
    throw malformed(issuer, `an issuer has at most ${maxUrlLength} characters here`, 'RFC 8414 §2');
  // RFC 8414 §2: an issuer has no query (and no fragment, which is refused above).
  if (!issuer.includes('?')) return url;
  throw malformed(issuer, 'an issuer has no query', 'RFC 8414 §2');
}

/** The locations in the order of the spec: three for an issuer with a path, two for one without. */
export function authorizationServerLocations({ origin, pathname }: URL): string[] {
  // RFC 8414 §3.1: a terminating "/" is removed before the well-known part is inserted.
  const path = pathname.replace(/\/$/, '');
  const wellKnown = `${origin}/.well-known`;
  const locations = [
    `${wellKnown}/oauth-authorization-server${path}`,
    `${wellKnown}/openid-configuration${path}`,
  ];
  return path === '' ? locations : [...locations, `${origin}${path}/.well-known/openid-configuration`];
}

export interface ExpectedIssuer {
  /** The URL from which the well-known URLs were built. */
  readonly identifier: string;
  /** The issuers that the document may state, compared as strings. */
  readonly issuers: readonly string[];
}

export function processAuthorizationServer(
  expected: ExpectedIssuer,
  { json, freshUntil }: FoundDocument,
  http: Pick<Http, 'allowInsecureLoopback'>,
  exceptions: Exceptions,
): AuthorizationServer {
  const { identifier } = expected;
  requireExpectedIssuer(expected, json, exceptions);
  const parsed = authorizationServerSchema.safeParse(json);
  if (!parsed.success) {
    const fields = parsed.error.issues.map((issue) => issue.path[0] ?? 'the document').join(', ');
    throw malformed(identifier, `it is wrong in ${quoted(fields)}`, 'RFC 8414 §2');
  }
  requireIssuer(parsed.data.issuer, http);
  requireSecureEndpoints(parsed.data, http);
  const lacksPkce = !statesPkce(parsed.data, exceptions);
  // Client credentials and ID-JAG use no authorization code, so a server for those doesn't need PKCE.
  if (lacksPkce && parsed.data.authorization_endpoint !== undefined)
    throw pkceUnsupported(identifier, parsed.data);
  return { ...toAuthorizationServer(parsed.data, json), lacksPkce: lacksPkce || undefined, freshUntil };
}

/** RFC 8414 §3.3: identical as strings, or the document MUST NOT be used. */
function requireExpectedIssuer(
  { identifier, issuers }: ExpectedIssuer,
  json: JsonObject,
  exceptions: Exceptions,
): void {
  const stated = json['issuer'];
  if (typeof stated === 'string' && issuers.includes(stated)) return;
  // Breaks RFC 8414 §3.3, "MUST be identical": the user waived it for this server.
  if (exceptions.issuerMismatch === true && typeof stated === 'string') return;
  const shown = typeof stated === 'string' ? quotedWithheld(stated) : 'none';
  throw new RuleRefusal(
    'issuer_mismatch',
    `The metadata of ${quoted(identifier)} states another issuer: ${shown}.`,
    {
      rule: 'RFC 8414 §3.3',
      hint: `The server is set up wrongly, or somebody else answers in its place. Tell its operator. If you trust it anyway: keyturn exception add ${shellWord(identifier)} issuer-mismatch`,
    },
  );
}

function requireSecureEndpoints(document: Document, http: Pick<Http, 'allowInsecureLoopback'>): void {
  const endpoints = {
    'the authorization endpoint': document.authorization_endpoint,
    'the token endpoint': document.token_endpoint,
    'the registration endpoint': document.registration_endpoint,
    'the revocation endpoint': document.revocation_endpoint,
    'the device authorization endpoint': document.device_authorization_endpoint,
  };
  for (const [what, url] of Object.entries(endpoints)) {
    if (url !== undefined) requireSecureUrl(url, what, http);
  }
}

/** MCP, Authorization Code Protection: S256 has to be listed. */
function statesPkce(
  document: Pick<Document, 'code_challenge_methods_supported'>,
  exceptions: Exceptions,
): boolean {
  const methods = document.code_challenge_methods_supported;
  // Breaks "if that field is absent, the client MUST refuse to proceed": the user waived it for this
  // server. S256 is still sent, and a list without it is still refused.
  return methods?.includes('S256') ?? exceptions.noPkceMetadata === true;
}

/** MCP, Authorization Code Protection: without S256 the client MUST refuse to proceed. Throws pkce_unsupported. */
export function requirePkceForUser({ issuer, lacksPkce, metadata }: AuthorizationServer): void {
  if (lacksPkce) throw pkceUnsupported(issuer, metadata);
}

/** The metadata says nothing of PKCE: the user may waive that. */
export class SilentAboutPkce extends RuleRefusal {
  readonly issuer: string;

  constructor(issuer: string, hint: string) {
    super('pkce_unsupported', withoutS256(issuer), { rule: pkceRule, hint, exception: 'no-pkce-metadata' });
    this.issuer = issuer;
  }
}

const pkceRule = 'OAuth 2.1 §4.1.1, RFC 8414 §2 (code_challenge_methods_supported)';

const withoutS256 = (issuer: string): string =>
  `${quoted(issuer)} doesn't say that it supports PKCE with S256.`;

function pkceUnsupported(
  issuer: string,
  document: { readonly code_challenge_methods_supported?: unknown },
): RuleRefusal {
  // An issuer comes from outside, and people copy this command: it must hold nothing that a shell interprets.
  const named = /^[\w.:/~%-]+$/.test(issuer) ? issuer : 'ISSUER';
  const command = `keyturn exception add ${shellWord(named)} no-pkce-metadata, then: keyturn login URL`;
  const hint =
    'The operator of the authorization server has to switch PKCE on and list S256 in its metadata.';
  // A list without S256 can't be waived.
  return document.code_challenge_methods_supported === undefined
    ? new SilentAboutPkce(issuer, `${hint} If they say that it does support S256: ${command}`)
    : new RuleRefusal('pkce_unsupported', withoutS256(issuer), { rule: pkceRule, hint });
}

function toAuthorizationServer(document: Document, metadata: JsonObject): AuthorizationServer {
  return {
    issuer: document.issuer,
    authorizationEndpoint: document.authorization_endpoint,
    tokenEndpoint: document.token_endpoint,
    registrationEndpoint: document.registration_endpoint,
    revocationEndpoint: document.revocation_endpoint,
    deviceAuthorizationEndpoint: document.device_authorization_endpoint,
    scopesSupported: document.scopes_supported?.flatMap(readScope),
    grantTypesSupported: document.grant_types_supported,
    grantProfilesSupported: document.authorization_grant_profiles_supported,
    tokenEndpointAuthMethods: document.token_endpoint_auth_methods_supported,
    issParameterSupported: document.authorization_response_iss_parameter_supported === true,
    clientIdMetadataDocumentSupported: document.client_id_metadata_document_supported === true,
    bindsTokens: document.dpop_signing_alg_values_supported?.includes(proofAlgorithm) || undefined,
    metadata,
  };
}

function malformed(issuer: string, problem: string, rule: string): RuleRefusal {
  const message = `The metadata of the authorization server ${quoted(issuer)} can't be used: ${problem}.`;
  return new RuleRefusal('metadata_invalid', message, {
    rule,
    hint: 'The server is set up wrongly. Tell its operator.',
  });
}

/** RFC 8628 §3.4. */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** True if the server names the endpoint of the grant and, if it lists grant types, lists this one (RFC 8628 §4). */
export function offersDeviceGrant(server: AuthorizationServer): boolean {
  if (server.deviceAuthorizationEndpoint === undefined) return false;
  return server.grantTypesSupported?.includes(deviceGrant) ?? true;
}

/** RFC 8693 §2.1. */
export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
