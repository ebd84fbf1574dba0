/** The client ID metadata document, and the URL that is our client_id. */
import { describe, expect, it } from 'vitest';
import {
  clientMetadataDocument,
  requireClientMetadataUrl,
} from '../../../src/oauth/client/client-metadata.ts';
import { everyWordOf, refusalOf } from '../refusal.ts';

const url = 'https://keyturn.example/client.json';
const redirectUri = 'http://127.0.0.1:53123/callback';

describe('the URL', () => {
  it.each([url, 'https://keyturn.example/c?v=1', 'https://[2001:db8::1]/c'])(
    '%s is a client_id, unchanged',
    (text) => {
      expect(requireClientMetadataUrl(text)).toBe(text);
    },
  );

  it.each([
    ['no URL', 'client.json'],
    ['http', 'http://keyturn.example/client.json'],
    ['without a path', 'https://keyturn.example'],
    ['with a fragment', `${url}#x`],
    ['with a password', 'https://name:pa55word@keyturn.example/client.json'],
    ['with a dot segment', 'https://keyturn.example/./client.json'],
    ['with an escaped dot segment', 'https://keyturn.example/a/%2e%2e/client.json'],
    ['with an uppercase host', 'https://KEYTURN.example/client.json'],
  ])('R-3: refuses a client_id %s', async (_what, text) => {
    const refusal = await refusalOf(() => requireClientMetadataUrl(text));
    expect(refusal.reason).toBe('invalid_request');
    expect(everyWordOf(refusal)).not.toContain('pa55word');
  });
});

it('R-3 R-4: the document has the specified fields, and its URL as client_id', () => {
  const document = clientMetadataDocument(url, [redirectUri, 'https://keyturn.example/callback']);
  expect(document).toEqual({
    client_id: url,
    client_name: 'Keyturn',
    redirect_uris: [redirectUri, 'https://keyturn.example/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  });
});
