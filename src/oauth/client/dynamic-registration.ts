/**
 * Dynamic client registration (RFC 7591).
 *
 * Invariant: this file makes the request, not the OAuth library. The library would repeat discovery by its own rules,
 * and refuses the status 200 of many servers.
 */
import { z } from 'zod';
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import { deviceGrant } from '../discovery/authorization-server.ts';
import type { AuthorizationServer } from '../discovery/authorization-server.ts';
import { deadline, isTransient, send, unreachableReply } from '../base/http.ts';
import type { Http, HttpReply } from '../base/http.ts';
import { responseFields, oauthError, shownError, shownRefusal, shownText } from '../base/oauth-error.ts';
import type { OAuthError } from '../base/oauth-error.ts';
import { textList } from '../discovery/metadata-document.ts';
import { readScope, scopeParameter } from '../base/scope.ts';
import { isLoopbackHost } from '../../base/text/this-machine.ts';
import { dynamicAuthMethods, RegistrationRequired } from './registration.ts';
import type { Registration, RegistrationWithSecrets } from './registration.ts';

/** RFC 7591 §3.2.1. Some servers write null or "" for "none". */
const clientInformationSchema = z.object({
  // Some servers number their clients.
  client_id: z.union([z.string().min(1), z.int().nonnegative().transform(String)]),
  client_secret: z.string().nullish(),
  // The RFC says a number; some servers write it as text. An unreadable value counts as absent.
  client_secret_expires_at: z
    .union([z.number(), z.string().transform(Number)])
    .pipe(z.number().nonnegative())
    .nullish()
    .catch(undefined),
  redirect_uris: textList.nullish().catch(undefined),
  token_endpoint_auth_method: z.string().nullish(),
  // An unreadable value counts as absent.
  scope: z.string().nullish().catch(undefined),
  // Only so that no message repeats it.
  registration_access_token: z.string().nullish().catch(undefined),
});

type ClientInformation = z.infer<typeof clientInformationSchema>;

export interface RegistrationRequest {
  /** Tried in order while the server refuses the redirect URI: 127.0.0.1, localhost, a fixed port. */
  readonly redirectUris: Iterable<string> | AsyncIterable<string>;
  /** All scopes that the client may ever request: some servers grant only scopes that the client registered. */
  readonly scope?: readonly string[];
  /** True if a client without these scopes would be useless, and would replace a better one. */
  readonly needsScope?: boolean;
  readonly isDevice?: boolean;
}

/** 20 s: some servers register slowly, but a user waits. */
const requestTimeout = 20_000;

/** Throws registration_required, registration_failed, or Unreachable (authorization_server_unreachable). */
export async function registerDynamically(
  server: AuthorizationServer,
  request: RegistrationRequest,
  http: Http,
): Promise<RegistrationWithSecrets> {
  const endpoint = server.registrationEndpoint;
  if (endpoint === undefined) throw new RegistrationRequired(server);
  let last: HttpReply | undefined;
  const refused: string[] = [];
  for await (const redirectUri of request.redirectUris) {
    const answered = await registerWithFallbacks(server, endpoint, request, redirectUri, http);
    const { reply } = answered;
    // RFC 7591 §3.2.1 says 201; some servers answer 200.
    if (reply.status === 201 || reply.status === 200) {
      return processRegistration(server, answered, http.wall());
    }
    last = reply;
    // What fails at a redirect URI with 500 may be well with another one.
    if (!mayRefuseRedirect(reply)) throw registrationFailed(server, describe(reply));
    refused.push(redirectUri);
  }
  if (last === undefined) throw new TypeError('no redirect URI was offered');
  if (last.status === 500) throw notNow(endpoint, last, http);
  // Any other refusal may be of the client as such: some servers register only clients that they have a list of.
  const isOfRedirect = refusesRedirect(oauthError(last));
  const about = isOfRedirect
    ? `it accepts none of the redirect URIs ${refused.map(quoted).join(', ')}: `
    : '';
  throw registrationFailed(server, about + describe(last));
}

interface ClientMetadata extends Pick<RegistrationRequest, 'scope'> {
  readonly redirectUri: string;
  readonly grantTypes: readonly string[];
}

interface AnsweredRegistration extends ClientMetadata {
  readonly reply: HttpReply;
}

/** First asks for everything; if the server refuses that, for less; at last for the minimum that a sign-in needs. */
async function registerWithFallbacks(
  server: AuthorizationServer,
  endpoint: string,
  { isDevice = false, needsScope = false, ...asked }: Omit<RegistrationRequest, 'redirectUris'>,
  redirectUri: string,
  http: Http,
): Promise<AnsweredRegistration> {
  // Some servers allow only the grant types that the client registered; others refuse a client that registers more.
  const needed = ['authorization_code', ...(isDevice ? [deviceGrant] : [])];
  const withRefresh = [...needed, 'refresh_token'];
  const { scope } = asked;
  const attempt = async (wanted: Omit<ClientMetadata, 'redirectUri'>): Promise<AnsweredRegistration> => {
    const metadata = { ...wanted, redirectUri };
    const reply = await sendRegistration(endpoint, registrationBody(server, metadata), http);
    return { ...metadata, reply };
  };
  // If the server refuses a scope, try without scopes first, so that the client still gets refresh tokens.
  const scopes = !needsScope && scope?.length ? [scope, undefined] : [scope];
  for (const each of scopes) {
    const answered = await attempt({ scope: each, grantTypes: withRefresh });
    if (!refusesMetadata(oauthError(answered.reply))) return answered;
  }
  return attempt({ scope: needsScope ? scope : undefined, grantTypes: needed });
}

function registrationBody(
  server: AuthorizationServer,
  { scope, redirectUri, grantTypes }: ClientMetadata,
): string {
  return JSON.stringify({
    // Consent pages show it.
    client_name: 'Keyturn',
    redirect_uris: [redirectUri],
    grant_types: grantTypes,
    response_types: ['code'],
    token_endpoint_auth_method: preferredAuthMethod(server),
    // The default is "web", which allows no loopback redirects.
    application_type: 'native',
    ...scopeParameter(scope),
  });
}

/** "none", unless the server lists others of ours only: a native app can't keep a secret from other programs. */
function preferredAuthMethod(server: AuthorizationServer): (typeof dynamicAuthMethods)[number] {
  const offered = server.tokenEndpointAuthMethods ?? ['none'];
  return dynamicAuthMethods.find((method) => offered.includes(method)) ?? 'none';
}

const registering = { what: 'the registration endpoint' } as const;
const unreachable = 'authorization_server_unreachable';

async function sendRegistration(url: string, body: string, http: Http): Promise<HttpReply> {
  const signal = deadline(http, requestTimeout);
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const reply = await send(http, { ...registering, url, signal, method: 'POST', headers, body }, unreachable);
  if (isTransient(reply.status) && reply.status !== 500) throw notNow(url, reply, http);
  return reply;
}

function notNow(url: string, reply: HttpReply, http: Http): KeyturnError {
  return unreachableReply(
    http,
    reply,
    { ...registering, url },
    unreachable,
    `answered with ${describe(reply)}`,
  );
}

function processRegistration(
  server: AuthorizationServer,
  { redirectUri, grantTypes, scope, reply }: AnsweredRegistration,
  now: number,
): RegistrationWithSecrets {
  const parsed = clientInformationSchema.safeParse(responseFields(reply));
  if (!parsed.success) {
    const error = oauthError(reply);
    throw registrationFailed(server, error === undefined ? 'its answer names no client' : shownError(error));
  }
  const answer = parsed.data;
  const tokenEndpointAuthMethod = authMethodOf(server, answer);
  const clientSecret = answer.client_secret || undefined;
  const expiry = tokenEndpointAuthMethod === 'none' ? undefined : answer.client_secret_expires_at;
  return {
    registration: {
      issuer: server.issuer,
      clientId: answer.client_id,
      source: 'dynamic',
      tokenEndpointAuthMethod,
      redirectUri: redirectOf(server, redirectUri, answer),
      registeredAt: now,
      grantTypes: [...grantTypes],
      scope: scope && [...scope],
      refusedScope: refusedScope(scope, answer),
      // RFC 7591 §3.2.1: seconds; 0 is never.
      secretExpiresAt: clientSecret && expiry ? Math.floor(expiry) * 1000 : undefined,
    },
    clientSecret,
  };
}

/** RFC 7591 §3.2.1: the server may register less than was asked for, and says so. */
function refusedScope(asked: readonly string[] = [], { scope }: ClientInformation): string[] | undefined {
  if (!scope) return undefined;
  const granted = readScope(scope);
  const refused = asked.filter((one) => !granted.includes(one));
  return refused.length === 0 ? undefined : refused;
}

/** The method that the server states. Without one: client_secret_basic if it gave a secret (RFC 7591 §2), else none. */
function authMethodOf(
  server: AuthorizationServer,
  answer: ClientInformation,
): Registration['tokenEndpointAuthMethod'] {
  const stated = answer.token_endpoint_auth_method || (answer.client_secret ? 'client_secret_basic' : 'none');
  const method = dynamicAuthMethods.find((known) => known === stated);
  if (method === undefined)
    throw registrationFailed(server, `it wants clients to authenticate by ${shown(stated, answer)}`);
  if (method !== 'none' && !answer.client_secret)
    throw registrationFailed(server, `it wants ${method} but gave no secret`);
  return method;
}

/**
 * RFC 7591 §3.2.1: the server may change the redirect URIs. If ours is among them, with or without its port, it counts.
 * Otherwise one on a loopback host counts if it has the same path, which shows the issuer that a response comes from
 * (RFC 9700 §4.4.2). Its port must be ours, or absent: a server doesn't choose where we listen.
 */
function redirectOf(server: AuthorizationServer, redirectUri: string, answer: ClientInformation): string {
  const { redirect_uris: answered } = answer;
  if (!answered || answered.length === 0) return redirectUri;
  const { protocol, port, pathname } = new URL(redirectUri);
  const fitting = answered.filter((uri) => {
    const url = URL.parse(uri);
    const isOurs = url?.protocol === protocol && url.pathname === pathname && ['', port].includes(url.port);
    return isOurs && isLoopbackHost(url.hostname);
  });
  const portless = new URL(redirectUri);
  portless.port = '';
  if (answered.includes(redirectUri) || fitting.includes(portless.href)) return redirectUri;
  const [other] = fitting;
  if (other === undefined)
    throw registrationFailed(
      server,
      `it registered another redirect URI, ${shown(answered[0] ?? '', answer)}`,
    );
  const url = new URL(other);
  if (url.port === '') url.port = port;
  return url.href;
}

/** Text of a response for a message, without the secrets in that response. */
function shown(
  text: string,
  { client_secret: secret, registration_access_token: token }: ClientInformation,
): string {
  return shownText(
    text,
    [secret, token].filter((one) => typeof one === 'string'),
  );
}

/** RFC 7591 §3.2.2: the server refuses something other than the redirect URI, such as a grant or a scope. */
function refusesMetadata(error: OAuthError | undefined): boolean {
  const codes = ['invalid_client_metadata', 'invalid_scope', 'unsupported_grant_type'];
  return error !== undefined && codes.includes(error.code) && !refusesRedirect(error);
}

/** RFC 7591 §3.2.2. Some servers use the general code, and name the redirect URI in the description. */
function refusesRedirect(error: OAuthError | undefined): boolean {
  if (error?.code === 'invalid_redirect_uri') return true;
  return error?.code === 'invalid_client_metadata' && /redirect/i.test(error.description ?? '');
}

/** RFC 7591 §3.2.2, and the codes of RFC 6749 and RFC 6750 that servers use here. */
const knownErrors: ReadonlySet<string> = new Set([
  'invalid_client_metadata',
  'invalid_software_statement',
  'unapproved_software_statement',
  'invalid_scope',
  'unsupported_grant_type',
  'unauthorized_client',
  'access_denied',
  'invalid_token',
]);

/** Or a refusal that doesn't say what it is about: a firewall may dislike an address of this machine in the body. */
function mayRefuseRedirect(reply: HttpReply): boolean {
  const error = oauthError(reply);
  if (refusesRedirect(error)) return true;
  return reply.status >= 400 && (error === undefined || !knownErrors.has(error.code));
}

function describe(reply: HttpReply): string {
  // Compare RFC 9700 §4.12: a request for one endpoint isn't sent to another.
  return reply.status >= 300 && reply.status < 400
    ? 'it redirects, which is not followed'
    : shownRefusal(reply);
}

function registrationFailed(server: AuthorizationServer, problem: string): KeyturnError {
  return new KeyturnError(
    'registration_failed',
    `${quoted(server.issuer)} didn't register this client: ${problem}.`,
    {
      rule: 'RFC 7591 §3.2',
      hint: server.isDefault
        ? 'It publishes no metadata, so the place was guessed. If the server takes an API key: keyturn api-key set URL. If you know its authorization server: keyturn login URL --issuer ISSUER'
        : `Register a client there by hand, then: keyturn oauth-client add ${shellWord(server.issuer)} --client-id ID`,
    },
  );
}
