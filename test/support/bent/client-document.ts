/**
 * A client ID metadata document, as an authorization server reads it: a URL for a client id, and what is
 * hosted there (spec, Client ID metadata document rules for the authorization server).
 *
 * Invariant: a document that is missing, no JSON, of another `client_id`, without a required field or with a
 * redirect URI of another kind is no client at all.
 */
import { z } from 'zod';
import { clientDocument as keyturnsDocument } from '../../../src/daemon/system/client-document.ts';
import type { BentClient } from './parties.ts';

/** Where the tests' metadata document is: as `keyturn oauth-client metadata URL` prints it. */
const hostedAt = 'https://keyturn.example/client.json';

export const loopbackHosts = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Spec, Mandatory security requirements 5: localhost URLs or HTTPS URLs. */
const redirectUri = z.string().refine((text) => {
  const url = URL.parse(text);
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && loopbackHosts.has(url.hostname));
});

const clientDocument = z.looseObject({
  client_id: z.string(),
  client_name: z.string().min(1),
  redirect_uris: z.array(redirectUri).min(1),
  grant_types: z.array(z.string()).default(['authorization_code']),
  response_types: z.array(z.literal('code')).default(['code']),
  // A document is public: what it names can't be a shared secret.
  token_endpoint_auth_method: z.literal('none').default('none'),
});

/** The client that the document at this URL describes; undefined where it describes none. */
export function clientFromDocument(clientId: string): BentClient | undefined {
  if (clientId !== hostedAt) return undefined;
  const { success, data } = clientDocument.safeParse(keyturnsDocument(hostedAt));
  if (!success || data.client_id !== clientId) return undefined;
  return {
    clientId,
    authMethod: data.token_endpoint_auth_method,
    redirectUris: data.redirect_uris,
    grantTypes: data.grant_types,
    name: data.client_name,
  };
}
