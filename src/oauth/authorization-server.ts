/**
 * What an authorization server says about itself (RFC 8414, OpenID Connect Discovery 1.0).
 *
 * Invariant: an `AuthorizationServer` exists only for metadata whose issuer is the one that was
 * asked for, whose endpoints are secure, and which offers PKCE with S256.
 */
import type { JsonObject } from 'openid-client';
import { z } from 'zod';

import { quoted, RuleRefusal } from '../errors.ts';
import type { Http } from './http.ts';
import { firstMetadata } from './metadata-document.ts';
import { readScope } from './scope.ts';
import { requireSecureUrl } from './secure-url.ts';

/** Plain data: may be written down and read again. */
export interface AuthorizationServer {
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint?: string;
  readonly revocationEndpoint?: string;
  readonly scopesSupported?: readonly string[];
  /** Undefined: not stated. */
  readonly tokenEndpointAuthMethods?: readonly string[];
  /** RFC 9207 §3: an authorization response without `iss` is refused. */
  readonly issParameterSupported: boolean;
  readonly clientIdMetadataDocumentSupported: boolean;
  /** The document as it came, for what the OAuth library reads of it. */
  readonly metadata: JsonObject;
}

const authorizationServerSchema = z.looseObject({
  issuer: z.string().min(1),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  registration_endpoint: z.string().optional(),
  revocation_endpoint: z.string().optional(),
  scopes_supported: z.array(z.string()).optional(),
  code_challenge_methods_supported: z.array(z.string()).optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  // Read by the OAuth library when an ID token comes.
  id_token_signing_alg_values_supported: z.array(z.string()).optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
  client_id_metadata_document_supported: z.boolean().optional(),
});

type Document = z.infer<typeof authorizationServerSchema>;

/**
 * The metadata of the server that `issuer` names. Undefined if it publishes none anywhere. Throws
 * issuer_mismatch, pkce_unsupported, metadata_invalid, insecure_url, or Unreachable
 * (authorization_server_unreachable).
 */
export async function discoverAuthorizationServer(
  issuer: string,
  http: Http,
): Promise<AuthorizationServer | undefined> {
  const locations = authorizationServerLocations(requireIssuer(issuer, http));
  const found = await firstMetadata(locations, http, 'authorization_server_unreachable');
  return found && processAuthorizationServer(issuer, found.json, http);
}

function requireIssuer(issuer: string, http: Http): URL {
  const url = requireSecureUrl(issuer, 'the issuer', http);
  // RFC 8414 §2: an issuer has no query (and no fragment, which is refused above).
  if (!issuer.includes('?')) return url;
  throw malformed(issuer, 'an issuer has no query', 'RFC 8414 §2');
}

/** In the order of the spec: three with a path, two without. */
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

/** The checks of one document, in order. */
export function processAuthorizationServer(
  issuer: string,
  json: JsonObject,
  http: Pick<Http, 'allowInsecureLoopback'>,
): AuthorizationServer {
  requireSameIssuer(issuer, json);
  const parsed = authorizationServerSchema.safeParse(json);
  if (!parsed.success) {
    const fields = parsed.error.issues.map((issue) => issue.path[0] ?? 'the document').join(', ');
    throw malformed(issuer, `it is wrong in ${quoted(fields)}`, 'RFC 8414 §2');
  }
  requireSecureEndpoints(parsed.data, http);
  requirePkce(issuer, parsed.data);
  return toAuthorizationServer(parsed.data, json);
}

/** RFC 8414 §3.3: identical as strings, or the document MUST NOT be used. */
function requireSameIssuer(issuer: string, json: JsonObject): void {
  const stated = json['issuer'];
  if (stated === issuer) return;
  const shown = typeof stated === 'string' ? quoted(stated) : 'none';
  throw new RuleRefusal(
    'issuer_mismatch',
    `The metadata of ${quoted(issuer)} states another issuer: ${shown}.`,
    {
      rule: 'RFC 8414 §3.3',
      hint: 'The server is set up wrongly, or somebody else answers in its place. Tell whoever runs it.',
    },
  );
}

function requireSecureEndpoints(document: Document, http: Pick<Http, 'allowInsecureLoopback'>): void {
  const endpoints = {
    'the authorization endpoint': document.authorization_endpoint,
    'the token endpoint': document.token_endpoint,
    'the registration endpoint': document.registration_endpoint,
    'the revocation endpoint': document.revocation_endpoint,
  };
  for (const [what, url] of Object.entries(endpoints)) {
    if (url !== undefined) requireSecureUrl(url, what, http);
  }
}

/** Spec, Mandatory security requirements 1: without a stated S256 the client MUST refuse to proceed. */
function requirePkce(issuer: string, document: Document): void {
  if (document.code_challenge_methods_supported?.includes('S256')) return;
  throw new RuleRefusal(
    'pkce_unsupported',
    `${quoted(issuer)} doesn't say that it supports PKCE with S256.`,
    {
      rule: 'OAuth 2.1 §4.1.1, RFC 8414 §2 (code_challenge_methods_supported)',
      hint: 'Whoever runs the authorization server has to switch PKCE on and list S256 in its metadata.',
    },
  );
}

function toAuthorizationServer(document: Document, metadata: JsonObject): AuthorizationServer {
  const { registration_endpoint, revocation_endpoint, scopes_supported } = document;
  const authMethods = document.token_endpoint_auth_methods_supported;
  return {
    issuer: document.issuer,
    authorizationEndpoint: document.authorization_endpoint,
    tokenEndpoint: document.token_endpoint,
    ...(registration_endpoint === undefined ? {} : { registrationEndpoint: registration_endpoint }),
    ...(revocation_endpoint === undefined ? {} : { revocationEndpoint: revocation_endpoint }),
    ...(scopes_supported === undefined ? {} : { scopesSupported: scopes_supported.flatMap(readScope) }),
    ...(authMethods === undefined ? {} : { tokenEndpointAuthMethods: authMethods }),
    issParameterSupported: document.authorization_response_iss_parameter_supported === true,
    clientIdMetadataDocumentSupported: document.client_id_metadata_document_supported === true,
    metadata,
  };
}

function malformed(issuer: string, problem: string, rule: string): RuleRefusal {
  const message = `The metadata of the authorization server ${quoted(issuer)} can't be used: ${problem}.`;
  return new RuleRefusal('metadata_invalid', message, {
    rule,
    hint: 'The server is set up wrongly. Tell whoever runs it.',
  });
}
