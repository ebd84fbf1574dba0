/**
 * Our client ID metadata document: its URL, which is our client_id, and the document to publish there
 * (draft-ietf-oauth-client-id-metadata-document).
 *
 * Invariant: the URL is the client_id byte for byte. A URL that two servers could read differently is refused. The
 * document states nothing that contradicts the requests.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { AuthorizationServer } from '../discovery/authorization-server.ts';
import type { Registration } from './registration.ts';
import { isLoopbackHost } from '../../base/text/this-machine.ts';
import { requireSecureUrl } from '../base/secure-url.ts';

/** The document at the URL, with the type application/json. */
export interface ClientMetadataDocument {
  readonly client_id: string;
  readonly client_name: string;
  readonly client_uri?: string;
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly token_endpoint_auth_method: 'none';
  readonly application_type: 'native';
}

/** The registration for a published document, at a server that accepts such documents. Throws invalid_request. */
export function registrationFromMetadataUrl(
  server: Pick<AuthorizationServer, 'issuer'>,
  url: string,
  redirectUri: string,
  now: number,
): Registration {
  requireClientMetadataUrl(url);
  return {
    issuer: server.issuer,
    clientId: url,
    source: 'metadata_document',
    tokenEndpointAuthMethod: 'none',
    redirectUri: requireRedirectUri(redirectUri),
    registeredAt: now,
  };
}

/**
 * `url`, unchanged, if it can be a client_id. It must be https even if http is allowed for loopback hosts, because the
 * authorization server fetches it from another machine. A query is accepted, though the draft discourages it. Throws
 * invalid_request.
 */
export function requireClientMetadataUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.protocol !== 'https:') throw unfit(url, 'it is not an https URL');
  if (parsed.username !== '' || parsed.password !== '') throw unfit(url, 'it carries a name or a password');
  if (url.includes('#')) throw unfit(url, 'it has a fragment');
  if (parsed.pathname === '/') throw unfit(url, 'it has no path');
  // Parsers rewrite dot segments, uppercase hosts and default ports, so two servers could compare such a URL
  // differently.
  if (parsed.href !== url) throw unfit(url, 'it is not in the form that URL parsers give it');
  return url;
}

/**
 * The document to publish at `url`. `clientUri`: an https page about the client. Throws invalid_request, insecure_url.
 */
export function clientMetadataDocument(
  url: string,
  redirectUris: readonly [string, ...string[]],
  { clientName = 'Keyturn', clientUri }: { readonly clientName?: string; readonly clientUri?: string } = {},
): ClientMetadataDocument {
  if (clientUri !== undefined) requireSecureUrl(clientUri, 'client_uri', { allowInsecureLoopback: false });
  return {
    client_id: requireClientMetadataUrl(url),
    client_name: clientName,
    ...(clientUri === undefined ? {} : { client_uri: clientUri }),
    redirect_uris: redirectUris.map(requireRedirectUri),
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    // A native app can't keep a secret from other programs of the user.
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  };
}

/** Spec, Mandatory security requirements 5: redirect URIs MUST be localhost URLs or HTTPS URLs. */
function requireRedirectUri(redirectUri: string): string {
  const url = URL.parse(redirectUri);
  const isLoopback = url?.protocol === 'http:' && isLoopbackHost(url.hostname);
  if ((isLoopback || url?.protocol === 'https:') && !redirectUri.includes('#')) return redirectUri;
  throw new KeyturnError('invalid_request', `${quoted(redirectUri)} can't be a redirect URI.`, {
    rule: 'OAuth 2.1 §1.5, RFC 8252 §7.3',
    hint: 'Use a loopback URL such as http://127.0.0.1:53123/callback, or an https URL.',
  });
}

function unfit(url: string, problem: string): KeyturnError {
  const shown = quoted(url.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//'));
  return new KeyturnError(
    'invalid_request',
    `${shown} can't be the URL of a client ID metadata document: ${problem}.`,
    {
      rule: 'draft-ietf-oauth-client-id-metadata-document §3',
      hint: 'Use an https URL with a path and nothing unusual, such as https://example.com/keyturn.json.',
    },
  );
}
