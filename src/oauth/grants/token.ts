/**
 * The token requests of a sign-in and of a refresh: exchanges a code or a refresh token for tokens (OAuth 2.1 §4.1.3,
 * §4.3).
 *
 * Invariant: `resource` is in every request, byte for byte, unless an exception leaves it out. A token is returned only
 * after all checks passed. A rotated refresh token is passed on even if the rest of the response is refused.
 */
import { KeyturnError, quoted, RuleRefusal } from '../../base/errors.ts';
import type { Reason } from '../../base/errors.ts';
import type { AuthorizationServer, TokenServer } from '../discovery/authorization-server.ts';
import { processAuthorizationResponse } from './authorization.ts';
import type { AmbiguousIssuer, StartedAuthorization } from './authorization.ts';
import type { OAuthClient } from '../client/client-authentication.ts';
import { isTransient } from '../base/http.ts';
import type { Http, HttpReply } from '../base/http.ts';
import { resourceParameter } from '../base/exceptions.ts';
import { scopeParameter } from '../base/scope.ts';
import type { GrantRequest, TokenResponse } from './token-response.ts';
import { exchangeFailure, refreshFailure, UnclearRefusal } from './token-failure.ts';
import { offlineRefused } from './authorization-failure.ts';
import { oauthError } from '../base/oauth-error.ts';
import { requestToken, tokensOf } from './token-request.ts';
import type { TokenOutcome } from './token-request.ts';

export type { TokenResponse } from './token-response.ts';

export interface CodeRequest extends OAuthClient {
  readonly server: AuthorizationServer;
  readonly started: StartedAuthorization;
  readonly callbackUrl: URL;
  /** Another issuer whose authorization response would come to the same redirect URI. */
  readonly ambiguity?: AmbiguousIssuer | undefined;
}

/** Throws as `processAuthorizationResponse`, and as `requestClientCredentials`. */
export async function exchangeCode(request: CodeRequest, http: Http): Promise<TokenResponse> {
  const { started, server, callbackUrl, ambiguity } = request;
  const { resource, exceptions, dpopKey } = started;
  const { code } = processAuthorizationResponse(started, server, callbackUrl, ambiguity);
  const requestedAt = http.now();
  const outcome = await requestToken(request, http, {
    grantType: 'authorization_code',
    parameters: {
      code,
      code_verifier: started.codeVerifier,
      redirect_uri: started.redirectUri,
      ...resourceParameter(resource, exceptions),
    },
    failure: (issuer, reply, at) =>
      offlineRefusal(started, issuer, reply) ?? exchangeFailure(issuer, reply, at),
    dpopKey,
    nonce: started.nonce,
    needsIdToken: exceptions?.needsIdToken,
  });
  requireNonce(started, outcome);
  const { scope } = started;
  const sent = { ...request, resource, scope, exceptions, dpopKey, requestedAt, isSignIn: true };
  return tokensOf(outcome, sent, http);
}

/** Its `scope` is a subset of the grant's scopes, for a narrower token; absent: all of them (RFC 6749 §6). */
export interface RefreshRequest extends GrantRequest {
  readonly refreshToken: string;
  /** The scopes of the grant. They are those of the new token if neither the request nor the response names scopes. */
  readonly grantedScope: readonly string[];
  /** All scopes as they were asked for: named if the server wants that (Entra ID), and only then. */
  readonly wholeScope?: readonly string[];
  /** Called before the access token is checked: even if the response is then refused, the old one may be used up. */
  readonly onRotation?: (refreshToken: string) => void | Promise<void>;
}

/** Throws login_required only if the refresh token is invalid; else as `exchangeCode`, and scope_insufficient. */
export async function refresh(request: RefreshRequest, http: Http): Promise<TokenResponse> {
  const { scope } = request;
  const requestedAt = http.now();
  const first = await refreshWith(request, scope, http);
  const outcome = scope === undefined && wantsScope(first) ? await namingScope(request, first, http) : first;
  const rotated = outcome.fields?.refresh_token;
  if (rotated) await request.onRotation?.(rotated);
  return tokensOf(outcome, { ...request, scope: scope ?? request.grantedScope, requestedAt }, http);
}

function refreshWith(
  { resource, ...request }: RefreshRequest,
  scope: readonly string[] | undefined,
  http: Http,
): Promise<TokenOutcome> {
  return requestToken(request, http, {
    grantType: 'refresh_token',
    parameters: {
      refresh_token: request.refreshToken,
      ...resourceParameter(resource, request.exceptions),
      ...scopeParameter(scope),
    },
    failure: refreshFailure(scope !== undefined),
    dpopKey: request.dpopKey,
    needsIdToken: request.exceptions?.needsIdToken,
  });
}

/** If the second refusal may be about the scope too, the first one is the answer: it says what the server wants. */
async function namingScope(request: RefreshRequest, first: TokenOutcome, http: Http): Promise<TokenOutcome> {
  const { wholeScope = [] } = request;
  if (wholeScope.length === 0) return first;
  const second = await refreshWith(request, wholeScope, http);
  return isScopeRefusal(second.refusal) ? first : second;
}

/** RFC 6749 §6 lets a refresh leave out the scope. This server refuses that, and its words say so. */
const wantsScope = ({ refusal }: TokenOutcome): boolean =>
  isScopeRefusal(refusal) && /\(".*(?:\bscope|AADSTS90009)/i.test(refusal.message);

/** A refusal that may be about the scope. */
function isScopeRefusal(error: unknown): error is KeyturnError {
  const reasons: readonly Reason[] = ['login_failed', 'scope_insufficient', 'resource_mismatch'];
  return error instanceof UnclearRefusal || (error instanceof KeyturnError && reasons.includes(error.reason));
}

/** Some servers find out only here that this client may have no refresh token. */
function offlineRefusal(
  started: StartedAuthorization,
  server: TokenServer,
  reply: HttpReply,
): KeyturnError | undefined {
  const error = isTransient(reply.status) ? undefined : oauthError(reply);
  return error && offlineRefused(started, server, error);
}

/** OpenID Connect Core §3.1.3.7 rule 11: an ID token must contain the nonce that was sent. */
function requireNonce(started: StartedAuthorization, { claims }: TokenOutcome): void {
  if (claims === undefined || started.nonce === undefined || claims.nonce === started.nonce) return;
  throw new RuleRefusal(
    'token_invalid',
    `The ID token of ${quoted(started.issuer)} belongs to another sign-in.`,
    {
      rule: 'OpenID Connect Core §3.1.3.7 (nonce)',
      hint: 'Start the sign-in again. If it happens again, tell the operator of the authorization server.',
    },
  );
}
