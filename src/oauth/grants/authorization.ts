/**
 * The authorization request and the authorization response (OAuth 2.1 §4.1).
 *
 * Invariant: issuer, state and verifier are recorded before the browser opens. Nothing of a response is used or
 * shown, not even its error, before state and issuer were checked.
 */
import { calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client';
import { KeyturnError, quoted, RuleRefusal } from '../../base/errors.ts';
import { offersDeviceGrant, type AuthorizationServer } from '../discovery/authorization-server.ts';
import { constantTimeEqual } from '../../base/constant-time.ts';
import { resourceParameter, type Exceptions } from '../base/exceptions.ts';
import { requireRegistrationIssuer, type Registration } from '../client/registration.ts';
import type { DpopKey } from '../client/dpop-key.ts';
import { scopeParameter } from '../base/scope.ts';
import { isLoopbackHost } from '../../base/text/this-machine.ts';
import { requireSecureUrl } from '../base/secure-url.ts';
import { refuseError, refusePrompt, type RefusableRequest } from './authorization-failure.ts';
import type { GrantRequest } from './token-response.ts';

/** A started sign-in. It contains secrets, so it is kept in memory only and never logged. */
export interface StartedAuthorization extends RefusableRequest {
  readonly state: string;
  readonly codeVerifier: string;
  /** As validated before the browser opened. */
  readonly issuer: string;
  readonly resource: string;
  readonly redirectUri: string;
  /** Set if the sign-in asks for an ID token (scope openid). */
  readonly nonce?: string;
  /** The rules that the user had waived for this server when the sign-in began. */
  readonly exceptions?: Exceptions;
  /** The key that the code and its tokens are bound to. */
  readonly dpopKey?: DpopKey;
}

export interface AuthorizationRequest extends Omit<GrantRequest, 'clientSecret'> {
  readonly server: AuthorizationServer;
  readonly registration: Registration;
  /** The URI of the listener; by default the registered one. It may differ from that in a loopback port only. */
  readonly redirectUri?: string;
  readonly loginHint?: string;
  /** Left out unless the server needs one, such as `consent`. */
  readonly prompt?: string;
  /** True if the client was registered just before, so that the server can't have forgotten it. */
  readonly isNewClient?: boolean;
}

/** `url` is for the browser. Throws issuer_mismatch, insecure_url, metadata_invalid, registration_failed. */
export async function buildAuthorizationRequest(
  request: AuthorizationRequest,
): Promise<{ readonly url: string; readonly started: StartedAuthorization }> {
  const { server, registration } = request;
  requireRegistrationIssuer(registration, server);
  const started = startAuthorization(request);
  const parameters = {
    response_type: 'code',
    client_id: registration.clientId,
    redirect_uri: started.redirectUri,
    // MCP, Open Redirection: state, although PKCE protects the exchange too.
    state: started.state,
    code_challenge: await calculatePKCECodeChallenge(started.codeVerifier),
    code_challenge_method: 'S256',
    // RFC 8707 §2; the spec says: whether or not the server supports it.
    ...resourceParameter(started.resource, started.exceptions),
    ...scopeParameter(started.scope),
    ...(started.nonce === undefined ? {} : { nonce: started.nonce }),
    ...(request.loginHint === undefined ? {} : { login_hint: request.loginHint }),
    ...(request.prompt === undefined ? {} : { prompt: request.prompt }),
    // RFC 9449 §10: with it the code is worth nothing without the key.
    ...(request.dpopKey === undefined ? {} : { dpop_jkt: request.dpopKey.thumbprint }),
  };
  return { url: authorizationUrl(server, parameters), started };
}

function authorizationUrl(server: AuthorizationServer, parameters: Readonly<Record<string, string>>): string {
  // The metadata's check already refused http on loopback if it isn't allowed. This check is for the browser: no
  // `javascript:` URL may reach it.
  const policy = { allowInsecureLoopback: true };
  const url = requireSecureUrl(requireAuthorizationEndpoint(server), 'the authorization endpoint', policy);
  requireFreeParameters(server, url, parameters);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

function startAuthorization(request: AuthorizationRequest): StartedAuthorization {
  const { server, registration, scope } = request;
  const redirectUri = request.redirectUri ?? registration.redirectUri;
  requireRegisteredRedirect(registration, redirectUri);
  return {
    state: randomState(),
    codeVerifier: randomPKCECodeVerifier(),
    issuer: server.issuer,
    resource: request.resource,
    redirectUri,
    scope: scope?.length === 0 ? undefined : scope,
    nonce: scope?.includes('openid') ? randomNonce() : undefined,
    exceptions: request.exceptions,
    dpopKey: request.dpopKey,
    mayBeUnknown: mayBeUnknown(request),
    prompt: request.prompt,
  };
}

/** False with a `prompt`: a refusal is then more likely about it, and the sign-in is repeated without it. */
function mayBeUnknown({ registration, isNewClient = false, prompt }: AuthorizationRequest): boolean {
  const { source } = registration;
  if (prompt !== undefined) return false;
  return source === 'metadata_document' || (source === 'dynamic' && !isNewClient);
}

/** RFC 6749 §3.1: parameters MUST NOT be included more than once, so the endpoint's query must not set ours. */
function requireFreeParameters(
  server: AuthorizationServer,
  { searchParams }: URL,
  parameters: Readonly<Record<string, string>>,
): void {
  const taken = Object.entries(parameters).find(([name, ours]) =>
    searchParams.getAll(name).some((value) => value !== ours),
  )?.[0];
  if (taken === undefined) return;
  throw new RuleRefusal(
    'metadata_invalid',
    `The authorization endpoint of ${quoted(server.issuer)} already sets ${quoted(taken)} in its query, to another value.`,
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

/** Another issuer with the same redirect URI: the response must then name its issuer. */
export interface AmbiguousIssuer {
  readonly issuer: string;
  readonly hint: string;
}

/**
 * Checks the authorization response, in order, and returns its code. Throws state_mismatch, issuer_mismatch,
 * access_denied, client_rejected, login_failed, or Unreachable (authorization_server_unreachable).
 */
export function processAuthorizationResponse(
  started: StartedAuthorization,
  server: AuthorizationServer,
  callbackUrl: URL,
  ambiguity?: AmbiguousIssuer,
): { readonly code: string } {
  const answer = callbackUrl.searchParams;
  requireState(started, answer);
  requireIssuer(started, server, answer);
  if (ambiguity !== undefined && !answer.has('iss')) throw ambiguous(started, ambiguity);
  refusePrompt(started, server, answer);
  refuseError(started, server, answer);
  return { code: requireCode(server, answer) };
}

/** OAuth 2.1 §4.1.2: exactly the state that was sent. */
function requireState(started: StartedAuthorization, answer: URLSearchParams): void {
  const [state, ...more] = answer.getAll('state');
  if (state !== undefined && more.length === 0 && constantTimeEqual(state, started.state)) return;
  throw new RuleRefusal('state_mismatch', "The answer doesn't belong to this sign-in: its state differs.", {
    rule: 'OAuth 2.1 §4.1.2 (state)',
    hint: 'It may come from an older tab. Start the sign-in again and use the page that then opens.',
  });
}

/** RFC 9207 §2.4: `iss` must equal the recorded issuer. It may be absent only if the server doesn't advertise it. */
function requireIssuer(
  started: StartedAuthorization,
  server: AuthorizationServer,
  answer: URLSearchParams,
): void {
  const [issuer, ...more] = answer.getAll('iss');
  const expected =
    issuer === undefined ? !server.issParameterSupported : isIssuer(started, issuer) && more.length === 0;
  if (expected && server.issuer === started.issuer) return;
  const problem =
    issuer === undefined ? 'It names no issuer, though this server always does' : 'It names another issuer';
  // Nothing else of the response is shown: it may come from an attacker's server.
  throw new RuleRefusal(
    'issuer_mismatch',
    `The answer of the sign-in at ${quoted(started.issuer)} was refused. ${problem}.`,
    {
      rule: 'RFC 9207 §2.4',
      hint: 'Start the sign-in again. If it happens again, somebody may be mixing up servers on purpose.',
    },
  );
}

/** Entra's metadata for several tenants states "{tenantid}" (only an exception accepts that), and answers name one. */
function isIssuer({ issuer }: StartedAuthorization, named: string): boolean {
  const [before = '', after, ...more] = issuer.split('{tenantid}');
  if (after === undefined || more.length > 0) return named === issuer;
  const tenant = named.slice(before.length, named.length - after.length);
  return named === before + tenant + after && /^[\w-]+$/.test(tenant);
}

/** RFC 9700 §4.4.2: if neither `iss` nor the redirect URI shows the issuer, the response may come from another one. */
function ambiguous({ issuer }: StartedAuthorization, { issuer: other, hint }: AmbiguousIssuer): RuleRefusal {
  return new RuleRefusal(
    'issuer_mismatch',
    `The answer of the sign-in at ${quoted(issuer)} was refused. It names no issuer, and an answer of ${quoted(other)} would arrive at the same redirect URI.`,
    { rule: 'RFC 9700 §4.4.2', hint },
  );
}

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

/** The page where the user signs in. Throws metadata_invalid for a server without one. */
export function requireAuthorizationEndpoint(server: AuthorizationServer): string {
  if (server.authorizationEndpoint !== undefined) return server.authorizationEndpoint;
  throw new RuleRefusal('metadata_invalid', `${quoted(server.issuer)} has no page to sign in at.`, {
    rule: 'RFC 8414 §2 (authorization_endpoint)',
    hint: offersDeviceGrant(server)
      ? 'It takes a sign-in by a code on another device: keyturn login URL --device'
      : 'Its metadata names no authorization endpoint. It may be for clients without a user: keyturn oauth-client add --help',
  });
}
