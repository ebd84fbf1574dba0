/**
 * MCP servers of the earlier revision, which publish no protected resource metadata (MCP
 * 2025-03-26): their authorization server is at their own origin.
 *
 * Invariant: the default endpoints are used only if every metadata location is refused with a 4xx that isn't temporary.
 * Metadata that is malformed or unreachable, or a web page, is an error.
 */
import {
  authorizationServerLocations,
  processAuthorizationServer,
  publishedMetadata,
} from './authorization-server.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import type { Http } from '../base/http.ts';
import type { Exceptions } from '../base/exceptions.ts';
import { requireSecureUrl } from '../base/secure-url.ts';

/** An hour, in ms, as for metadata without cache headers: the server may publish metadata later. */
const defaultsKeptFor = 60 * 60 * 1000;

/** MCP 2025-03-26, Authorization Base URL: the endpoint's URL with its path discarded. `endpoint` is a valid URL. */
export function authorizationBaseUrl(endpoint: string): string {
  return new URL(endpoint).origin;
}

/** The default endpoints, with `isDefault`, if it has no metadata. Throws as `discoverAuthorizationServer`. */
export async function discoverEarlierRevision(
  baseUrl: string,
  http: Http,
  exceptions: Exceptions = {},
): Promise<AuthorizationServer> {
  const base = requireSecureUrl(baseUrl, 'the authorization base URL', http).origin;
  const locations = authorizationServerLocations(new URL(base));
  // We know only the origin, and the issuer may be either spelling of it.
  const expected = { identifier: base, issuers: [base, `${base}/`] };
  const found = await publishedMetadata(expected, locations, http, exceptions, versionHeaders(http));
  if (found === undefined) return defaultServer({ issuer: base, base }, http.now());
  return processAuthorizationServer(expected, found, http, exceptions);
}

/**
 * MCP 2025-03-26, Server Metadata Discovery Headers: clients SHOULD send it, by the name that MCP servers read and by
 * the name of the setting. It is sent nowhere else, because servers with protected resource metadata follow a later
 * revision than the one that it names.
 */
function versionHeaders({ protocolVersion }: Http): Record<string, string> {
  if (protocolVersion === undefined) return {};
  const { header, value } = protocolVersion;
  return { 'MCP-Protocol-Version': value, [header]: value };
}

/**
 * MCP 2025-03-26, Fallbacks for Servers without Metadata Discovery, relative to the authorization base URL `base`. All
 * other rules stay: S256, state, resource, exact issuer. The defaults aren't limited to the earlier revision: `issuer` may
 * come from protected resource metadata. `now`: steady, in ms.
 */
export function defaultServer(
  { issuer, base }: { readonly issuer: string; readonly base: string },
  now: number,
): AuthorizationServer {
  return {
    issuer,
    authorizationEndpoint: `${base}/authorize`,
    tokenEndpoint: `${base}/token`,
    registrationEndpoint: `${base}/register`,
    issParameterSupported: false,
    clientIdMetadataDocumentSupported: false,
    metadata: {},
    isDefault: true,
    freshUntil: now + defaultsKeptFor,
  };
}
