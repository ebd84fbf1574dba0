/**
 * The client ID metadata document that stands for this program, wherever the user hosts it.
 *
 * Invariant: it lists exactly the redirect URIs that sign-ins with it use.
 */
import { documentRedirectUris } from '../../broker/destination/redirect.ts';
import { clientMetadataDocument } from '../../oauth/client/client-metadata.ts';
import type { ClientMetadataDocument } from '../../oauth/client/client-metadata.ts';

/** The document to host at `url`. Throws `invalid_request` for a URL that can't be a client id. */
export function clientDocument(url: string): ClientMetadataDocument {
  return clientMetadataDocument(url, documentRedirectUris);
}
