/**
 * The authorization request and the authorization response (OAuth 2.1 §4.1).
 *
 * Invariant: issuer, state and verifier are recorded before the browser opens. Nothing of a response is used or
 * shown, not even its error, before state and issuer were checked.
 */
import { timingSafeEqual } from 'node:crypto';
import { calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client';

import { KeyturnError, quoted, RuleRefusal, shellWord, Unreachable } from '../../base/errors.ts';
import { offersDeviceGrant } from '../discovery/authorization-server.ts';
import type { AuthorizationServer } from '../discovery/authorization-server.ts';
import { isTransientError, shownError } from '../base/oauth-error.ts';
import type { OAuthError } from '../base/oauth-error.ts';
import { resourceParameter } from '../base/overrides.ts';
import type { Overrides } from '../base/overrides.ts';
import { requireRegistrationIssuer } from '../client/registration.ts';
import type { Registration } from '../client/registration.ts';
import { formatScope } from '../base/scope.ts';
import { isLoopbackHost, requireSecureUrl } from '../base/secure-url.ts';
import { resourceHint } from './token-failure.ts';

/** One sign-in under way. Holds secrets: in memory only, never logged. */
export interface AuthorizationAttempt {
  readonly state: string;
  readonly codeVerifier: string;
  /** As validated before the browser opened. */
  readonly issuer: string;
  readonly resource: string;
  readonly redirectUri: string;
  /** As requested; absent: the parameter was left out. */
  readonly scope?: readonly string[];
  /** Sent if an ID token was asked for (scope openid). */
  readonly nonce?: string;
  /** What the owner had waived for this server when it began. */
  readonly overrides?: Overrides;
  /** True: the server may have forgotten this client, or may refuse its document; `invalid_request` can mean that. */
  readonly mayBeUnknown?: boolean;
  /** The `prompt` parameter; a server may refuse it. */
  readonly prompt?: string;
}

export interface AuthorizationRequest {
  readonly server: AuthorizationServer;
  readonly registration: Registration;
  /** Sent byte for byte. */
  readonly resource: string;
  readonly scope?: readonly string[];
  /** Where the listener is; the registered URI unless given. May differ from it in a loopback port only. */
  readonly redirectUri?: string;
  readonly loginHint?: string;
  /** Left out unless a server needs one, such as `consent`. */
  readonly prompt?: string;
  /** The client was registered a moment ago, so that the server can't have forgotten it. */
  readonly isNewClient?: boolean;
  /** What the owner waived for this server. */
  readonly overrides?: Overrides;
}

/** `url` is for the browser. Throws issuer_mismatch, insecure_url, metadata_invalid, or registration_failed. */
export async function buildAuthorizationRequest(
  request: AuthorizationRequest,
): Promise<{ readonly url: string; readonly attempt: AuthorizationAttempt }> {
  const { server, registration } = request;
  requireRegistrationIssuer(registration, server);
  const attempt = newAttempt(request);
  const parameters = {
    response_type: 'code',
    client_id: registration.clientId,
    redirect_uri: attempt.redirectUri,
    // Mandatory security requirements 6: state, although PKCE protects the exchange too.
    state: attempt.state,
    code_challenge: await calculatePKCECodeChallenge(attempt.codeVerifier),
    code_challenge_method: 'S256',
    // RFC 8707 §2: whether or not the server supports it.
    ...resourceParameter(attempt.resource, attempt.overrides),
    ...(attempt.scope === undefined ? {} : { scope: formatScope(attempt.scope) }),
    ...(attempt.nonce === undefined ? {} : { nonce: attempt.nonce }),
    ...(request.loginHint === undefined ? {} : { login_hint: request.loginHint }),
    ...(request.prompt === undefined ? {} : { prompt: request.prompt }),
  };
  return { url: authorizationUrl(server, parameters), attempt };
}

function authorizationUrl(server: AuthorizationServer, parameters: Readonly<Record<string, string>>): string {
  // It was checked with the metadata. It is checked again because this URL goes to the browser.
  const lastLook = { allowInsecureLoopback: true };
  const url = requireSecureUrl(requireAuthorizationEndpoint(server), 'the authorization endpoint', lastLook);
  requireFreeParameters(server, url, Object.keys(parameters));
  for (const [name, value] of Object.entries(parameters)) url.searchParams.append(name, value);
  return url.href;
}

function newAttempt(request: AuthorizationRequest): AuthorizationAttempt {
  const { server, registration, scope } = request;
  const redirectUri = request.redirectUri ?? registration.redirectUri;
  requireRegisteredRedirect(registration, redirectUri);
  return {
    state: randomState(),
    codeVerifier: randomPKCECodeVerifier(),
    issuer: server.issuer,
    resource: request.resource,
    redirectUri,
    ...(scope === undefined || scope.length === 0 ? {} : { scope }),
    ...(scope?.includes('openid') ? { nonce: randomNonce() } : {}),
    ...(request.overrides === undefined ? {} : { overrides: request.overrides }),
    mayBeUnknown: isDoubtful(request),
    ...(request.prompt === undefined ? {} : { prompt: request.prompt }),
  };
}

/** With a `prompt`, the reason for a refusal may be the prompt. */
function isDoubtful({ registration, isNewClient = false, prompt }: AuthorizationRequest): boolean {
  const { source } = registration;
  if (prompt !== undefined) return false;
  return source === 'metadata_document' || (source === 'dynamic' && !isNewClient);
}

/** RFC 6749 §3.1: parameters MUST NOT be included more than once, so the query of the endpoint must not contain ours. */
function requireFreeParameters(server: AuthorizationServer, url: URL, names: readonly string[]): void {
  const taken = names.find((name) => url.searchParams.has(name));
  if (taken === undefined) return;
  throw new RuleRefusal(
    'metadata_invalid',
    `The authorization endpoint of ${quoted(server.issuer)} already sets ${quoted(taken)} in its query.`,
    { rule: 'RFC 6749 §3.1', hint: 'The server is set up wrongly. Tell its operator.' },
  );
}

/** RFC 8252 §7.3: on a loopback host the port may vary; anything else is compared as a string. */
function requireRegisteredRedirect(registration: Registration, redirectUri: string): void {
  const registered = registration.redirectUri;
  if (redirectUri === registered || sameLoopbackRedirect(registered, redirectUri)) return;
  throw new KeyturnError(
    'registration_failed',
    `The redirect URI ${quoted(redirectUri)} is not registered.`,
    {
      rule: 'OAuth 2.1 §2.3.1',
      hint: `At ${quoted(registration.issuer)} it is ${quoted(registered)}. Register a client for the one that is used.`,
    },
  );
}

function sameLoopbackRedirect(registered: string, used: string): boolean {
  const [one, other] = [URL.parse(registered), URL.parse(used)];
  if (one === null || other === null || !isLoopbackHost(one.hostname)) return false;
  one.port = '';
  other.port = '';
  return one.protocol === 'http:' && one.href === other.href;
}

/** Another issuer uses the same redirect URI, so a response must name its issuer. */
export interface AmbiguousIssuer {
  /** The other issuer. */
  readonly issuer: string;
  /** What the user can do about it. */
  readonly hint: string;
}

/**
 * The authorization code of the answer, after its checks in order. Throws state_mismatch,
 * issuer_mismatch, access_denied, client_rejected, login_failed, or Unreachable (authorization_server_unreachable).
 */
export function processAuthorizationResponse(
  attempt: AuthorizationAttempt,
  server: AuthorizationServer,
  callbackUrl: URL,
  ambiguity?: AmbiguousIssuer,
): { readonly code: string } {
  const answer = callbackUrl.searchParams;
  requireState(attempt, answer);
  requireIssuer(attempt, server, answer);
  if (ambiguity !== undefined && !answer.has('iss')) throw ambiguous(attempt, ambiguity);
  refusePrompt(attempt, server, answer);
  refuseError(attempt, server, answer);
  return { code: requireCode(server, answer) };
}

/** OAuth 2.1 §4.1.2: exactly the state that was sent. */
function requireState(attempt: AuthorizationAttempt, answer: URLSearchParams): void {
  const [state, ...more] = answer.getAll('state');
  if (state !== undefined && more.length === 0 && constantTimeEqual(state, attempt.state)) return;
  throw new RuleRefusal(
    'state_mismatch',
    "The answer doesn't belong to this sign-in: its state is another.",
    {
      rule: 'OAuth 2.1 §4.1.2 (state)',
      hint: 'It may come from an older tab. Start the sign-in again and use the page that then opens.',
    },
  );
}

function constantTimeEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** RFC 9207 §2.4: present → the recorded issuer, as a plain string; absent → only if not advertised. */
function requireIssuer(
  attempt: AuthorizationAttempt,
  server: AuthorizationServer,
  answer: URLSearchParams,
): void {
  const [issuer, ...more] = answer.getAll('iss');
  const expected =
    issuer === undefined ? !server.issParameterSupported : issuer === attempt.issuer && more.length === 0;
  if (expected && server.issuer === attempt.issuer) return;
  const problem =
    issuer === undefined ? 'It names no issuer, though this server always does' : 'It names another issuer';
  // Nothing else of the response is shown: it may come from an attacker's server.
  throw new RuleRefusal(
    'issuer_mismatch',
    `The answer of the sign-in at ${quoted(attempt.issuer)} was refused. ${problem}.`,
    {
      rule: 'RFC 9207 §2.4',
      hint: 'Start the sign-in again. If it happens again, somebody may be mixing up servers on purpose.',
    },
  );
}

/** RFC 9700 §4.4.2: if neither `iss` nor the redirect URI shows the issuer, the response may come from another one. */
function ambiguous({ issuer }: AuthorizationAttempt, { issuer: other, hint }: AmbiguousIssuer): RuleRefusal {
  return new RuleRefusal(
    'issuer_mismatch',
    `The answer of the sign-in at ${quoted(issuer)} was refused. It names no issuer, and an answer of ${quoted(other)} would arrive at the same redirect URI.`,
    { rule: 'RFC 9700 §4.4.2', hint },
  );
}

/** The server refuses a sign-in with a `prompt`; without it the sign-in may work. */
export class PromptRefused extends KeyturnError {}

/** The server refuses the requested scopes; with others the sign-in may work. */
export class ScopeRefused extends KeyturnError {}

/** OpenID Connect Core §3.1.2.6, and the codes of servers that don't know the parameter. */
const promptErrors: ReadonlySet<string> = new Set([
  'invalid_request',
  'server_error',
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
]);

function refusePrompt(
  { prompt }: AuthorizationAttempt,
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

/** OAuth 2.1 §4.1.2.1. The page that error_uri names is never shown. */
function refuseError(
  attempt: AuthorizationAttempt,
  server: AuthorizationServer,
  answer: URLSearchParams,
): void {
  const code = answer.get('error');
  if (code === null) return;
  const description = answer.get('error_description');
  const error = description === null ? { code } : { code, description };
  const shown = shownError(error);
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
        hint: 'Nobody refused you, and this may pass by itself. Start the sign-in again later.',
      },
    );
  }
  if (refusesClient(attempt, error))
    throw clientRefused(server, `refused the client of this sign-in: ${shown}`);
  const Refusal = code === 'invalid_scope' ? ScopeRefused : KeyturnError;
  throw new Refusal('login_failed', `${quoted(server.issuer)} refused the sign-in: ${shown}.`, {
    rule: 'OAuth 2.1 §4.1.2.1',
    hint: hintFor(attempt, server, error),
  });
}

/**
 * OAuth 2.1 §4.1.2.1, and spec, Errors 5 for a metadata document. `invalid_request` has many causes: it is about the
 * client only where nothing else explains it.
 */
function refusesClient({ mayBeUnknown = false }: AuthorizationAttempt, error: OAuthError): boolean {
  const { code, description = '' } = error;
  if (code === 'invalid_client' || code === 'unauthorized_client') return true;
  if (code !== 'invalid_request' || !mayBeUnknown) return false;
  return description === '' || (aboutClient.test(description) && !aboutOtherParameter.test(description));
}

const aboutClient = /client|redirect|metadata/i;

/** The other parameters of the request. */
const aboutOtherParameter =
  /scope|resource|code.?challenge|pkce|response.?type|prompt|nonce|login.?hint|\bstate\b/i;

/** The server refuses the client. `what` follows the issuer in the message. */
export function clientRefused({ issuer }: Pick<AuthorizationServer, 'issuer'>, what: string): KeyturnError {
  return new KeyturnError('client_rejected', `${quoted(issuer)} ${what}.`, {
    rule: 'OAuth 2.1 §4.1.2.1',
    hint: `Register a client there by hand, then: keyturn register ${shellWord(issuer)} --client-id ID`,
  });
}

function hintFor({ scope }: AuthorizationAttempt, server: AuthorizationServer, error: OAuthError): string {
  const { code, description = '' } = error;
  const isUnnamed = code === 'invalid_scope' && scope === undefined;
  const said = isUnnamed
    ? scopeless
    : (hints[code] ?? 'Start the sign-in again. If it fails again, tell the operator of the server.');
  // RFC 8707 §2; some servers call the parameter an unknown one.
  if (code === 'invalid_target' || (code === 'invalid_request' && /\bresource\b/i.test(description)))
    return `${said} ${resourceHint(server, true)}`;
  const openid =
    code === 'invalid_scope' || code === 'invalid_request' ? openidHint(server, scope) : undefined;
  return openid === undefined ? said : `${said}${isUnnamed ? '.' : ''} ${openid}.`;
}

/**
 * Some OpenID providers refuse a sign-in without an ID token, with an error page or with one of several codes.
 * Undefined if the sign-in asks for an ID token, or if the server has none.
 */
export function openidHint(
  { scopesSupported = [] }: Pick<AuthorizationServer, 'scopesSupported'>,
  scope: readonly string[] = [],
): string | undefined {
  if (scope.includes('openid') || !scopesSupported.includes('openid')) return undefined;
  return 'The server may want to be asked for an ID token: sign in with --scope openid';
}

/** RFC 6749 §3.3: without the parameter the server uses a default, or fails with this error. */
const scopeless =
  'No scopes were asked for, and the server has none of its own for that. Name some: keyturn login RESOURCE --scope "…"';

const hints: Readonly<Record<string, string>> = {
  invalid_scope: 'Ask for other scopes: the server knows at least one of these not.',
  invalid_target: "The authorization server doesn't know this protected server. Tell their operators.",
};

function requireCode(server: AuthorizationServer, answer: URLSearchParams): string {
  const [code, ...more] = answer.getAll('code');
  if (code !== undefined && code !== '' && more.length === 0) return code;
  throw new RuleRefusal(
    'login_failed',
    `The answer of ${quoted(server.issuer)} holds no authorization code.`,
    {
      rule: 'OAuth 2.1 §4.1.2',
      hint: 'Start the sign-in again. If you pasted the URL, paste the whole of it.',
    },
  );
}

/** Where the person signs in. Throws metadata_invalid for a server that has no such page. */
export function requireAuthorizationEndpoint(server: AuthorizationServer): string {
  if (server.authorizationEndpoint !== undefined) return server.authorizationEndpoint;
  throw new RuleRefusal('metadata_invalid', `${quoted(server.issuer)} has no page to sign in at.`, {
    rule: 'RFC 8414 §2 (authorization_endpoint)',
    hint: offersDeviceGrant(server)
      ? 'It takes a sign-in by a code on another device: keyturn login RESOURCE --device'
      : 'Its metadata names no authorization endpoint. It may be for clients without a person: keyturn register --help',
  });
}
