/**
 * Token revocation (RFC 7009).
 *
 * Invariant: the result is `confirmed` only if the server confirmed the revocation.
 */
import { tokenRevocation } from 'openid-client';
import type { OAuthClient } from '../client/client-authentication.ts';
import { isSignInPage, isTransient, unreachableReply, type Http, type HttpReply } from '../base/http.ts';
import { clientConfiguration, libraryRefusal } from '../client/oauth-client.ts';
import { oauthError } from '../base/oauth-error.ts';
import { clientRejected } from './token-failure.ts';

export interface RevocationRequest extends OAuthClient {
  readonly token: string;
  readonly hint: 'refresh_token' | 'access_token';
}

/** `not_offered`: no such endpoint, or not for this kind of token or client (some refuse every public client). */
export type RevocationResult = 'confirmed' | 'not_offered';

/** Throws Unreachable (authorization_server_unreachable, with retryAfter in seconds), or client_rejected. */
export async function revokeToken(request: RevocationRequest, http: Http): Promise<RevocationResult> {
  const url = request.server.revocationEndpoint;
  if (url === undefined) return 'not_offered';
  const outcome: { revocation: RevocationResult } = { revocation: 'not_offered' };
  const processReply = (reply: HttpReply): Response => {
    outcome.revocation = processRevocation(request, url, reply, http);
    return new Response(null, { status: 200 });
  };
  try {
    const config = clientConfiguration(request, http, { what: 'the revocation endpoint', processReply });
    await tokenRevocation(config, request.token, { token_type_hint: request.hint });
  } catch (error) {
    throw libraryRefusal(error, request.server);
  }
  return outcome.revocation;
}

/** RFC 7009 §2.2: 200 confirms, even for a token that the server doesn't know. A web page is no confirmation. */
function processRevocation(
  request: OAuthClient,
  url: string,
  reply: HttpReply,
  http: Http,
): RevocationResult {
  const isPage = isSignInPage(reply);
  if (!isPage && (reply.status === 200 || reply.status === 204)) return 'confirmed';
  if (isPage || isTransient(reply.status) || reply.status < 400) {
    const endpoint = { url, what: 'the revocation endpoint' };
    throw unreachableReply(http, reply, endpoint, 'authorization_server_unreachable');
  }
  const error = oauthError(reply);
  // For a public client, which has no secret, the same error means that the server doesn't offer revocation to it.
  const hasSecret = request.registration.tokenEndpointAuthMethod !== 'none';
  if (hasSecret && error?.code === 'invalid_client') throw clientRejected(request.server, error, error.code);
  return 'not_offered';
}
