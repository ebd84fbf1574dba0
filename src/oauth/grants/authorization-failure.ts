/**
 * The errors for error codes in the authorization response (OAuth 2.1 §4.1.2.1), with hints for the user.
 *
 * Invariant: the caller has checked state and issuer before. `error_uri` is never shown.
 */
import { KeyturnError, quoted, shellOption, shellWord, Unreachable } from '../../base/errors.ts';
import type { ErrorDetails } from '../../base/errors.ts';
import type { AuthorizationServer } from '../discovery/authorization-server.ts';
import { isTransientError, shownError } from '../base/oauth-error.ts';
import type { OAuthError } from '../base/oauth-error.ts';
import { formatScope, includesOfflineAccess, withoutOfflineAccess } from '../base/scope.ts';
import { refusesResource, resourceHint } from './token-failure.ts';

/** The part of an authorization request that a refusal may be about. */
export interface RefusableRequest {
  /** The requested scopes; absent if the parameter was left out. */
  readonly scope?: readonly string[];
  /** True if the server may have forgotten this client, or may refuse its document: `invalid_request` can mean that. */
  readonly mayBeUnknown?: boolean;
  readonly prompt?: string;
}

/** The server refuses a sign-in with a `prompt`; without it the sign-in may work. */
export class PromptRefused extends KeyturnError {}

/** The server refuses the requested scopes; with others the sign-in may work. */
export class ScopeRefused extends KeyturnError {}

/** The server may refuse only `offline_access`: without it, or after the user's consent, the sign-in may work. */
export class OfflineRefused extends ScopeRefused {
  readonly wantsConsent: boolean;

  constructor(
    message: string,
    { wantsConsent, ...details }: ErrorDetails & { readonly wantsConsent: boolean },
  ) {
    super('login_failed', message, details);
    this.wantsConsent = wantsConsent;
  }
}

/** OpenID Connect Core §11, and what servers say to a client that may have no refresh token. */
const offlineErrors: ReadonlySet<string> = new Set(['invalid_scope', 'not_allowed', 'consent_required']);

/** The error, if the request had `offline_access` and the answer may be about that. */
export function offlineRefused(
  { scope, prompt }: RefusableRequest,
  server: Pick<AuthorizationServer, 'issuer'>,
  error: OAuthError,
): OfflineRefused | undefined {
  const { code, description = '' } = error;
  if (!includesOfflineAccess(scope)) return undefined;
  if (!offlineErrors.has(code) && !/offline/i.test(description)) return undefined;
  const shown = shownError(error);
  const wantsConsent =
    prompt === undefined && (code === 'consent_required' || /consent|prompt/i.test(description));
  return new OfflineRefused(`${quoted(server.issuer)} refused the sign-in: ${shown}.`, {
    wantsConsent,
    rule: 'OAuth 2.1 §4.1.2.1',
    hint: scopeHint,
  });
}

/** The codes of OpenID Connect Core §3.1.2.6, and of servers that don't support the parameter. */
const promptErrors: ReadonlySet<string> = new Set([
  'invalid_request',
  'server_error',
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
]);

/** Throws PromptRefused if the request had a `prompt` and the error may be about it. */
export function refusePrompt(
  { prompt }: RefusableRequest,
  server: AuthorizationServer,
  answer: URLSearchParams,
): void {
  const code = answer.get('error');
  if (prompt === undefined || code === null || !promptErrors.has(code)) return;
  throw new PromptRefused(
    'login_failed',
    `${quoted(server.issuer)} refused the sign-in: ${shownError({ code })}.`,
    {
      rule: 'OAuth 2.1 §4.1.2.1',
      hint: `It was asked for prompt=${prompt}. Start the sign-in again: it is left out then.`,
    },
  );
}

/** Throws the error for the code in `answer`, if there is one (OAuth 2.1 §4.1.2.1). */
export function refuseError(
  request: RefusableRequest,
  server: AuthorizationServer,
  answer: URLSearchParams,
): void {
  const code = answer.get('error');
  if (code === null) return;
  const description = answer.get('error_description');
  const error = description === null ? { code } : { code, description };
  const shown = shownError(error);
  const offline = offlineRefused(request, server, error);
  if (offline) throw offline;
  if (code === 'access_denied') {
    throw new KeyturnError('access_denied', `The sign-in was denied at ${quoted(server.issuer)}: ${shown}.`, {
      rule: 'OAuth 2.1 §4.1.2.1',
      hint: 'Start it again and allow it there, or ask the operator of the server for access.',
    });
  }
  if (isTransientError(error)) {
    throw new Unreachable(
      'authorization_server_unreachable',
      `${quoted(server.issuer)} can't serve the sign-in now: ${shown}.`,
      {
        rule: 'OAuth 2.1 §4.1.2.1',
        hint: 'This may be temporary. Start the sign-in again later.',
      },
    );
  }
  const isAboutScope = refusesScope(request, error);
  if (!isAboutScope && refusesClient(request, error))
    throw clientRefused(server, `refused the client of this sign-in: ${shown}`);
  const Refusal = isAboutScope ? ScopeRefused : KeyturnError;
  throw new Refusal('login_failed', `${quoted(server.issuer)} refused the sign-in: ${shown}.`, {
    rule: 'OAuth 2.1 §4.1.2.1',
    hint: isAboutScope && code !== 'invalid_scope' ? scopeHint : hintFor(request, server, error),
    ...(!isAboutScope && refusesResource(error) ? { exception: 'no-resource' } : {}),
  });
}

/** Some servers blame the client for a scope that they don't know: another client would fare no better. */
function refusesScope({ scope }: RefusableRequest, { code, description = '' }: OAuthError): boolean {
  if (code === 'invalid_scope') return true;
  // Entra ID: "The resource parameter … doesn't match with the requested scopes."
  const isAboutResource =
    code === 'invalid_target' || /\bresource\W.*\bparameter\b|\bresource parameter\b/i.test(description);
  return scope !== undefined && !isAboutResource && /\bscopes?\b/i.test(description);
}

/**
 * OAuth 2.1 §4.1.2.1, and MCP, Error Handling for a metadata document. `invalid_request` has many causes. It counts as
 * a refusal of the client only if the description names the client and no other parameter, or is empty.
 */
function refusesClient({ mayBeUnknown = false }: RefusableRequest, error: OAuthError): boolean {
  const { code, description = '' } = error;
  if (code === 'invalid_client' || code === 'unauthorized_client') return true;
  if (code !== 'invalid_request' || !mayBeUnknown) return false;
  return description === '' || (aboutClient.test(description) && !aboutOtherParameter.test(description));
}

const aboutClient = /client|redirect|metadata/i;

/** The other parameters of the request. */
const aboutOtherParameter =
  /scope|resource|code.?challenge|pkce|response.?type|prompt|nonce|login.?hint|\bstate\b/i;

/** The error for a refused client. `what` follows the issuer in the message. */
export function clientRefused({ issuer }: Pick<AuthorizationServer, 'issuer'>, what: string): KeyturnError {
  return new KeyturnError('client_rejected', `${quoted(issuer)} ${what}.`, {
    rule: 'OAuth 2.1 §4.1.2.1',
    hint: `Register a client there by hand, then: keyturn oauth-client add ${shellWord(issuer)} --client-id ID`,
  });
}

function hintFor({ scope }: RefusableRequest, server: AuthorizationServer, error: OAuthError): string {
  const { code, description = '' } = error;
  const said =
    code === 'invalid_scope' && scope === undefined
      ? scopeless
      : (hints[code] ?? 'Start the sign-in again. If it fails again, tell the operator of the server.');
  if (refusesResource(error)) return `${said} ${resourceHint(server, true)}`;
  // What the server says of the cause comes first.
  const isOpen = description === '' || /openid|\bid.?token/i.test(description);
  const openid =
    isOpen && (code === 'invalid_scope' || code === 'invalid_request')
      ? openidHint(server, scope)
      : undefined;
  return openid === undefined ? said : `${said}${said.endsWith('.') ? '' : '.'} ${openid}.`;
}

/**
 * Some OpenID providers refuse a sign-in without an ID token. Undefined if one is asked for, or if the server has none.
 * `again`: the command for the same sign-in with this option.
 */
export function openidHint(
  { scopesSupported = [] }: Pick<AuthorizationServer, 'scopesSupported'>,
  scope: readonly string[] = [],
  again = (option: string) => `keyturn login URL ${option}`,
): string | undefined {
  if (scope.includes('openid') || !scopesSupported.includes('openid')) return undefined;
  const option = shellOption('scope', formatScope(['openid', ...withoutOfflineAccess(scope)]));
  return `The server may want to be asked for an ID token: ${again(option)}`;
}

/** RFC 6749 §3.3: without the parameter the server uses a default, or fails with this error. */
const scopeless =
  'No scopes were asked for, and the server has none of its own for that. Name some: keyturn login URL --scope "…"';

const scopeHint =
  'Name exactly the scopes that the authorization server knows for this server: keyturn login URL --scope "…"';

const hints: Readonly<Record<string, string>> = {
  invalid_scope: scopeHint,
  invalid_target: "The authorization server doesn't know this MCP server. Tell their operators.",
};
