/**
 * The client credentials grant (OAuth 2.1 §4.2): tokens for the client itself, without a user.
 *
 * Invariant: only a client with a secret or a key makes the request. The result has no refresh token: the next token
 * comes from a new request with the client's credentials.
 */
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import type { OAuthClient } from '../client/client-authentication.ts';
import type { ProofKey } from '../client/proof-key.ts';
import type { Http } from '../base/http.ts';
import { resourceParameter } from '../base/exceptions.ts';
import type { Exceptions } from '../base/exceptions.ts';
import { formatScope } from '../base/scope.ts';
import { expectedTokens, processAccessToken } from './token-response.ts';
import type { TokenResponse } from './token-response.ts';
import { grantFailure } from './token-failure.ts';
import { requireTokenFields, requestToken } from './token-request.ts';

export interface ClientCredentialsRequest extends OAuthClient {
  readonly resource: string;
  readonly scope?: readonly string[];
  /** What the user waived for this server. */
  readonly exceptions?: Exceptions;
  /** The key that the token should be bound to. */
  readonly proofKey?: ProofKey | undefined;
}

const failure = grantFailure('Check what this client may do at the authorization server.');

/**
 * Throws client_rejected, scope_insufficient, resource_mismatch, login_failed, token_invalid,
 * audience_mismatch, or Unreachable (authorization_server_unreachable, with retryAfter in seconds).
 */
export async function requestClientCredentials(
  request: ClientCredentialsRequest,
  http: Http,
): Promise<TokenResponse> {
  const { resource, scope = [] } = request;
  const isScoped = scope.length > 0;
  requireConfidential(request);
  const requestedAt = http.now();
  const outcome = await requestToken(request, http, {
    grantType: 'client_credentials',
    parameters: {
      ...resourceParameter(resource, request.exceptions),
      ...(isScoped ? { scope: formatScope(scope) } : {}),
    },
    failure: (failed, reply, via) => failure(failed, reply, via, isScoped),
    proofKey: request.proofKey,
  });
  // RFC 6749 §4.4.3: a refresh token SHOULD NOT be included, and is dropped.
  return processAccessToken(requireTokenFields(outcome), expectedTokens(request, requestedAt), http);
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
