/**
 * Token exchange (RFC 8693): a narrower access token for one that the same server issued.
 *
 * Invariant: the token goes to no server but its issuer. What comes back is an access token with at most the scopes that
 * were asked for.
 */
import { quoted, RuleRefusal } from '../../base/errors.ts';
import type { OAuthClient } from '../client/client-authentication.ts';
import type { ProofKey } from '../client/proof-key.ts';
import { tokenExchange } from '../discovery/authorization-server.ts';
import type { TokenServer } from '../discovery/authorization-server.ts';
import type { Http } from '../base/http.ts';
import { resourceParameter } from '../base/overrides.ts';
import type { Overrides } from '../base/overrides.ts';
import { formatScope, isWithin } from '../base/scope.ts';
import { expectedTokens, processAccessToken } from './token-response.ts';
import type { TokenResponse } from './token-response.ts';
import { grantFailure } from './token-failure.ts';
import { requireTokenFields, requestToken } from './token-request.ts';

/** RFC 8693 §3. */
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

export interface NarrowingRequest extends OAuthClient {
  readonly accessToken: string;
  readonly resource: string;
  readonly scope: readonly string[];
  /** What the owner waived for this server. */
  readonly overrides?: Overrides;
  /** The key that the access token is bound to; the new one is bound to it too. */
  readonly proofKey?: ProofKey | undefined;
}

const failure = grantFailure('Check whether this client may exchange tokens at the authorization server.');

/**
 * Throws client_rejected, scope_insufficient, resource_mismatch, login_failed, token_invalid,
 * audience_mismatch, or Unreachable (authorization_server_unreachable, with retryAfter in seconds).
 */
export async function exchangeForNarrower(request: NarrowingRequest, http: Http): Promise<TokenResponse> {
  const { accessToken, resource, scope, overrides, proofKey, server } = request;
  const requestedAt = http.now();
  const outcome = await requestToken(request, http, {
    grantType: tokenExchange,
    parameters: {
      subject_token: accessToken,
      subject_token_type: accessTokenType,
      requested_token_type: accessTokenType,
      ...resourceParameter(resource, overrides),
      scope: formatScope(scope),
    },
    failure: (failed, reply, via) => failure(failed, reply, via, true),
    proofKey,
  });
  const fields = requireTokenFields(outcome);
  // RFC 8693 §2.2.1.
  if (fields.issued_token_type !== accessTokenType) throw unusable(server, 'it is no access token');
  const answer = processAccessToken(fields, expectedTokens(request, requestedAt), http);
  if (!isWithin(answer.scope, scope)) throw unusable(server, 'it has more scopes than were asked for');
  return answer;
}

function unusable({ issuer }: TokenServer, problem: string): RuleRefusal {
  return new RuleRefusal(
    'token_invalid',
    `${quoted(issuer)} exchanged a token for one that can't be used: ${problem}.`,
    {
      rule: 'RFC 8693 §2.2.1',
      hint: 'Tell the operator of the authorization server.',
    },
  );
}
