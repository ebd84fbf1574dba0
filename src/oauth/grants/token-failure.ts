/**
 * The errors for error responses of the token endpoint.
 *
 * Invariant: only a response that says that the refresh token is invalid becomes `login_required`. A response without a
 * clear refusal becomes `Unreachable`: it may be temporary, and never ends a sign-in. For a refresh, one that may be a
 * refusal in the server's own words becomes `UnclearRefusal`; the caller decides after several of them.
 */
import { detailsOf, KeyturnError, quoted, RuleRefusal, shellWord, Unreachable } from '../../base/errors.ts';
import type { ErrorDetails } from '../../base/errors.ts';
import type { TokenServer } from '../discovery/authorization-server.ts';
import { isSuccess, isTransient, unreachableReply } from '../base/http.ts';
import type { Http, HttpReply } from '../base/http.ts';
import {
  isTransientError,
  oauthError,
  responseFields,
  shownError,
  shownRefusal,
  wantsUser,
} from '../base/oauth-error.ts';
import type { OAuthError } from '../base/oauth-error.ts';
import { parseJson } from '../../base/text/json.ts';

/** The refusals that all grants share: of the client or the resource, not of the code or token. */
function commonRefusal(
  server: TokenServer,
  error: OAuthError | undefined,
  { isSignIn = false, grantType }: { isSignIn?: boolean; grantType?: UnattendedGrant } = {},
): KeyturnError | undefined {
  if (error !== undefined && namesUnknownClient.test(error.code))
    return clientRejected(server, error, 'invalid_client', grantType);
  switch (error?.code) {
    case 'unauthorized_client':
    case 'unsupported_grant_type':
      return clientRejected(server, error, error.code, grantType);
    case 'invalid_target':
      // RFC 8707 §2.
      return new KeyturnError(
        'resource_mismatch',
        `${quoted(server.issuer)} issues no tokens for this MCP server: ${shownError(error)}.`,
        {
          rule: 'RFC 8707 §2',
          hint: `Check the URL of the MCP server. ${resourceHint(server, isSignIn)}`,
          exception: 'no-resource',
        },
      );
    default:
      return undefined;
  }
}

/** invalid_client, and what some servers write for it. */
const namesUnknownClient = /^(?:bad|incorrect|invalid|unknown)_client(?:_(?:credentials|id|secret))?$/;

/** RFC 8707 §2; some servers call the parameter an unknown one. */
export const refusesResource = ({ code, description = '' }: OAuthError): boolean =>
  code === 'invalid_target' || (code === 'invalid_request' && /\bresource\b/i.test(description));

/** For servers that refuse the parameter. With the exception a refresh goes on; a sign-in has to be started again. */
export function resourceHint({ issuer }: Pick<TokenServer, 'issuer'>, isSignIn: boolean): string {
  const waive = `If the server takes no resource parameter at all: keyturn exception add ${shellWord(issuer)} no-resource`;
  return isSignIn ? `${waive}, then: keyturn login URL` : waive;
}

/** The server says that it doesn't accept our client. */
export class ClientRejected extends KeyturnError {
  readonly code: ClientRefusal;

  constructor(message: string, { code, ...details }: ErrorDetails & { readonly code: ClientRefusal }) {
    super('client_rejected', message, details);
    this.code = code;
  }

  /**
   * RFC 6749 §5.2: true if the server doesn't know the client or its secret; false if the client may not use the grant.
   */
  get isUnknown(): boolean {
    return this.code === 'invalid_client';
  }
}

type ClientRefusal = 'invalid_client' | 'unauthorized_client' | 'unsupported_grant_type';

/** The grants without a user, as `oauth-client add --grant-type` names them. */
type UnattendedGrant = 'client_credentials' | 'id-jag' | 'jwt-bearer';

/** RFC 6749 §5.2 and RFC 7009 §2.2.1. */
export function clientRejected(
  server: TokenServer,
  error: OAuthError,
  code: ClientRefusal,
  grantType?: UnattendedGrant,
): ClientRejected {
  const replace = `keyturn oauth-client add ${shellWord(server.issuer)} --client-id ID`;
  return new ClientRejected(
    `${quoted(server.issuer)} doesn't accept the client that is registered there: ${shownError(error)}.`,
    {
      code,
      rule: 'RFC 6749 §5.2',
      hint: grantType
        ? `${code === 'invalid_client' ? 'Enter the client again' : mustAllow(grantType)}: ${replace} --grant-type ${shellWord(grantType)}   (and its other options: keyturn oauth-client add --help)`
        : `Sign in again; a client entered by hand is replaced with: ${replace}   (and --client-secret-stdin, if it has a secret)`,
    },
  );
}

const mustAllow = (grantType: UnattendedGrant): string =>
  `The operator of the authorization server must allow the grant ${grantType} for this client. To enter another client`;

/** The error for a failed exchange of a code. After a refusal the code is used up, and the user has to sign in again. */
export function exchangeFailure(server: TokenServer, reply: HttpReply, http: Http): KeyturnError {
  const error = oauthError(reply);
  if (isTransient(reply.status)) return unreachable(server, reply, http);
  if (error !== undefined && isTransientError(error)) return unreachable(server, reply, http, error);
  const common = commonRefusal(server, error, { isSignIn: true });
  if (common) return common;
  const isRefusal = reply.status >= 400 || error !== undefined;
  if (isTokenless(reply, error)) return tokenless(server);
  if (!isRefusal || (error === undefined && !isServersOwn(reply))) return unreachable(server, reply, http);
  return new KeyturnError(
    'login_failed',
    `${quoted(server.issuer)} refused the authorization code: ${shownRefusal(reply)}.`,
    {
      rule: 'RFC 6749 §5.2',
      hint:
        error?.code === 'invalid_request'
          ? resourceHint(server, true)
          : 'Start the sign-in again: a code works once and for a short time.',
      ...(error && refusesResource(error) ? { exception: 'no-resource' } : {}),
    },
  );
}

/**
 * The error for a failed refresh. `isNarrowed`: the request named scopes, as for a narrower token. Then only an error
 * that names the refresh token means that the refresh token is invalid; any other may be about the scope.
 */
export function refreshFailure(
  isNarrowed: boolean,
): (server: TokenServer, reply: HttpReply, http: Http) => KeyturnError {
  return (server, reply, http) => {
    const error = oauthError(reply);
    if (isTransient(reply.status)) return unreachable(server, reply, http);
    const isDead = isNarrowed ? namesDeadToken(error) : refreshTokenIsDead(reply, error);
    if (isDead) return deadToken(server, reply);
    const common = commonRefusal(server, error);
    if (common) return common;
    if (error?.code === 'invalid_scope' || (isNarrowed && isEmptyRefusal(reply)))
      return notNarrowed(server, reply);
    if (error?.code === 'invalid_request') return requestRefused(server, error);
    if (error !== undefined && wantsUser(error.code)) return new UserWanted(server, error);
    const failure = unreachable(server, reply, http, error);
    return !isNarrowed && mayBeRefusal(reply, error) ? new UnclearRefusal(failure) : failure;
  };
}

/** The server itself refused a refresh, and not with an error code of RFC 6749 §5.2: the refresh token may be dead. */
export class UnclearRefusal extends Unreachable {
  constructor(failure: KeyturnError) {
    super(failure.reason, failure.message, detailsOf(failure));
  }
}

/** Some servers send their limits with a 400. */
function mayBeRefusal(reply: HttpReply, error: OAuthError | undefined): boolean {
  const { status, text = '' } = reply;
  if (status < 400 || status > 499 || status === proxyWantsPassword) return false;
  if (error !== undefined && isTransientError(error)) return false;
  if (
    reply.headers.get('retry-after') !== null ||
    /throttl|too.?many|rate.?(limit|exceed)|slow.?down/i.test(text)
  )
    return false;
  return isServersOwn(reply);
}

/** Empty, a form or any JSON: a web page is a network's or a firewall's. */
function isServersOwn(reply: HttpReply): boolean {
  const { text = '' } = reply;
  return text.trim() === '' || responseFields(reply) !== undefined || parseJson(text) !== undefined;
}

/** RFC 9110 §15.5.8. */
const proxyWantsPassword = 407;

function deadToken(server: TokenServer, reply: HttpReply): KeyturnError {
  return new KeyturnError(
    'login_required',
    `${quoted(server.issuer)} no longer accepts the refresh token: ${shownRefusal(reply)}.`,
    {
      rule: 'RFC 6749 §5.2 (invalid_grant)',
      hint: 'Sign in again: keyturn login URL',
    },
  );
}

function notNarrowed(server: TokenServer, reply: HttpReply): KeyturnError {
  return new KeyturnError(
    'scope_insufficient',
    `${quoted(server.issuer)} doesn't narrow the token: ${shownRefusal(reply)}.`,
    {
      rule: 'RFC 6749 §6',
      hint: 'Widen the permission to all scopes of the sign-in, or sign in with just these scopes.',
    },
  );
}

function requestRefused(server: TokenServer, error: OAuthError): KeyturnError {
  return new KeyturnError(
    'login_failed',
    `${quoted(server.issuer)} refused to refresh the token: ${shownError(error)}.`,
    {
      rule: 'RFC 6749 §5.2',
      hint: `Sign in again: keyturn login URL. ${resourceHint(server, false)}`,
    },
  );
}

/** Not a word about the refresh token: where the user is somewhere else again, the server may take it. */
export class UserWanted extends KeyturnError {
  /** One of those that `wantsUser` knows. */
  readonly code: string;

  constructor(server: TokenServer, error: OAuthError) {
    const message = `${quoted(server.issuer)} wants you to sign in there before it refreshes the token: ${shownError(error)}.`;
    const hint = 'Sign in again: keyturn login URL';
    super('login_failed', message, {
      rule: 'OpenID Connect Core §3.1.2.6',
      hint,
    });
    this.code = error.code;
  }
}

/** RFC 6749 §5.1: a JSON answer of success without a token won't have one the next time either. */
function isTokenless(reply: HttpReply, error: OAuthError | undefined): boolean {
  return isSuccess(reply.status) && error === undefined && responseFields(reply) !== undefined;
}

function tokenless({ issuer }: TokenServer): RuleRefusal {
  return new RuleRefusal('token_invalid', `The token answer of ${quoted(issuer)} holds no token.`, {
    rule: 'RFC 6749 §5.1 (access_token)',
    hint: 'The authorization server is set up wrongly, or answers in a form of its own. Tell its operator.',
  });
}

/** For every other grant. `renewal`: the hint if the credential was refused. `isScoped`: the request named scopes. */
export function grantFailure(
  renewal: string,
  isScoped = true,
  grantType?: UnattendedGrant,
): (server: TokenServer, reply: HttpReply, http: Http) => KeyturnError {
  return (server, reply, http) => {
    const error = oauthError(reply);
    if (isTokenless(reply, error)) return tokenless(server);
    if (isTransient(reply.status) || error === undefined) return unreachable(server, reply, http);
    if (isTransientError(error)) return unreachable(server, reply, http, error);
    const common = commonRefusal(server, error, { grantType });
    if (common) return common;
    if (error.code === 'invalid_scope') {
      return new KeyturnError(
        'scope_insufficient',
        isScoped
          ? `${quoted(server.issuer)} grants this client other scopes: ${shownError(error)}.`
          : `${quoted(server.issuer)} grants this client nothing without a scope: ${shownError(error)}.`,
        {
          rule: 'RFC 6749 §5.2',
          hint: isScoped
            ? 'Ask for other scopes, or have them granted to this client there.'
            : 'No scopes were asked for. Name some, or have this client given a default there.',
        },
      );
    }
    return new KeyturnError(
      'login_failed',
      `${quoted(server.issuer)} issued no token: ${shownError(error)}.`,
      { rule: 'RFC 6749 §5.2', hint: renewal },
    );
  };
}

/** invalid_grant, and the codes that some servers use for it. */
const deadTokenCodes = new Set(['invalid_grant', 'bad_refresh_token', 'invalid_refresh_token']);

/** The forms in which servers say that a refresh token is invalid, expired, used or revoked. */
function refreshTokenIsDead(reply: HttpReply, error: OAuthError | undefined): boolean {
  if (namesDeadToken(error)) return true;
  if (reply.status === 401 && error?.code === 'invalid_request') return true;
  return isEmptyRefusal(reply);
}

function namesDeadToken(error: OAuthError | undefined): boolean {
  if (error === undefined || isTransientError(error)) return false;
  return deadTokenCodes.has(error.code) || saysDeadToken.test(error.description ?? '');
}

/** Some servers write another code, and that the refresh token is invalid. Not: that it is missing, or its grant type. */
const saysDeadToken =
  /\b(?:expired|invalid|revoked|unknown)(?: or \w+)* refresh[ _-]?token\b(?! grant)|\brefresh[ _-]?token\b (?:is |was |has |been |already )+(?:expired|invalid|not (?:found|valid)|revoked|unknown|used)\b/i;

function isEmptyRefusal({ status, text }: HttpReply): boolean {
  return status === 400 && text?.trim() === '';
}

function unreachable(server: TokenServer, reply: HttpReply, http: Http, error?: OAuthError): KeyturnError {
  const endpoint = { url: server.tokenEndpoint, what: 'the token endpoint' };
  return unreachableReply(http, reply, endpoint, 'authorization_server_unreachable', problem(reply, error));
}

function problem(reply: HttpReply, error: OAuthError | undefined): string {
  if (error !== undefined) return `answered with status ${reply.status}: ${shownError(error)}`;
  if (isSuccess(reply.status)) return 'answered with something that is not a token answer';
  // Following the redirect would send a code, token or secret to another place.
  if (reply.status >= 300 && reply.status < 400) return 'redirects, which is never followed with a secret';
  return `answered with ${shownRefusal(reply)}`;
}
