/**
 * Our client ID metadata document: its URL, which is our client_id, and the document to publish there
 * (draft-ietf-oauth-client-id-metadata-document).
 *
 * Invariant: the URL is the client_id byte for byte. A URL that two servers could read differently is refused. The
 * document states nothing that contradicts the requests.
 */
import { KeyturnError, quotedUrl } from '../../base/errors.ts';

/** The document at the URL, with the type application/json. */
export interface ClientMetadataDocument {
  readonly client_id: string;
  readonly client_name: string;
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly token_endpoint_auth_method: 'none';
  readonly application_type: 'native';
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
  // Parsers rewrite dot segments, uppercase hosts and default ports, so two servers could compare it differently.
  if (parsed.href !== url) throw unfit(url, 'it is not in the form that URL parsers give it');
  return url;
}

/** The document to publish at `url`. Throws invalid_request. */
export function clientMetadataDocument(url: string, redirectUris: readonly string[]): ClientMetadataDocument {
  return {
    client_id: requireClientMetadataUrl(url),
    client_name: 'Keyturn',
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    // A native app can't keep a secret from other programs of the user.
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  };
}

function unfit(url: string, problem: string): KeyturnError {
  return new KeyturnError(
    'invalid_request',
    `${quotedUrl(url)} can't be the URL of a client ID metadata document: ${problem}.`,
    {
      rule: 'draft-ietf-oauth-client-id-metadata-document §3',
      hint: 'Use an https URL with a path and nothing unusual, such as https://example.com/keyturn.json.',
    },
  );
}
