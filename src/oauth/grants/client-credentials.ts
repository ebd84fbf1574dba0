/**
 * The client credentials grant (OAuth 2.1 §4.2): tokens for the client itself, without a user.
 *
 * Invariant: only a client with a secret or a key makes the request. The result has no refresh token: the next token
 * comes from a new request with the client's credentials.
 */
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import type { OAuthClient } from '../client/client-authentication.ts';
import type { Http } from '../base/http.ts';
import type { GrantRequest, TokenResponse } from './token-response.ts';
import { grantFailure } from './token-failure.ts';
import { requestAccessToken } from './token-request.ts';

/**
 * Throws client_rejected, scope_insufficient, resource_mismatch, login_failed, token_invalid,
 * audience_mismatch, or Unreachable (authorization_server_unreachable, with retryAfter in seconds).
 */
export async function requestClientCredentials(request: GrantRequest, http: Http): Promise<TokenResponse> {
  requireConfidential(request);
  const { scope = [] } = request;
  return requestAccessToken(request, http, {
    grantType: 'client_credentials',
    parameters: {},
    failure: grantFailure(
      'Check what this client may do at the authorization server.',
      scope.length > 0,
      'client_credentials',
    ),
  });
}

/** RFC 6749 §4.4: the grant MUST only be used by confidential clients. */
function requireConfidential({ server, registration }: OAuthClient): void {
  if (registration.tokenEndpointAuthMethod !== 'none') return;
  throw new KeyturnError(
    'client_rejected',
    `The client at ${quoted(server.issuer)} has neither secret nor private key, so it can't act on its own.`,
    {
      rule: 'RFC 6749 §4.4',
      hint: `Enter one: keyturn oauth-client add ${shellWord(server.issuer)} --client-id ID --client-secret-stdin --grant-type client_credentials`,
    },
  );
}
