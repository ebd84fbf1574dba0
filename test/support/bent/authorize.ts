/**
 * The authorization endpoint of a bent authorization server.
 *
 * Invariant: it redirects only to the client's URIs (OAuth 2.1 §4.1.2.1), but for an unknown client if `unknownClients`
 * says so. No code is made without an S256 challenge.
 */
import { consentPage, signInPage } from './pages.ts';
import { type Answer, html, type RecordedRequest, redirectTo } from './server.ts';
import { findClient } from './client-authentication.ts';
import { type BentClient, type Parts, Refusal, once, scopesOf } from './parties.ts';
import { randomValue } from './token-store.ts';

/** RFC 8252 §7.3 speaks of addresses; `localhost` is a name. */
const loopbackAddresses = new Set(['127.0.0.1', '[::1]']);
const loopbackHosts = new Set([...loopbackAddresses, 'localhost']);

/** GET of a browser, and the POST of its consent page to the same target. */
export function authorize(parts: Parts, request: RecordedRequest): Answer {
  const { query } = request;
  const client = findClient(parts, query.get('client_id') ?? '');
  const redirectUri = query.get('redirect_uri') ?? '';
  if (client === undefined) return unknownClient(parts, request, redirectUri);
  if (!mayRedirect(parts, client, redirectUri))
    return html('<h1>The redirect URI is not registered</h1>', 400);
  const { failsOnPrompts } = parts.settings;
  if (failsOnPrompts === 'page' && query.has('prompt')) return html('<h1>An error occurred</h1>', 500);
  const failure = errorOf(parts, request);
  const page = failure === undefined ? pageOf(parts, client, request) : undefined;
  return (
    page ?? redirected(parts, request, redirectUri, failure ?? { code: newCode(parts, client, request) })
  );
}

/** What the user has to fill in before an answer goes back. */
function pageOf(parts: Parts, client: BentClient, { form, url, query }: RecordedRequest): Answer | undefined {
  const { consent } = parts.settings;
  if (consent === 'auto' || form.has('decision')) return undefined;
  const action = url.pathname + url.search;
  const login = form.get('login');
  if (consent === 'signIn' && (login === null || !['alice', 'bob'].includes(login)))
    return html(
      signInPage(action, login === null ? '' : 'There is no such account.'),
      login === null ? 200 : 400,
    );
  if (login !== null) parts.counts.signIns += 1;
  const asked = [...query.getAll('resource'), ...(scopesOf(query) ?? [])];
  return html(consentPage(action, client.name ?? client.clientId, login ?? '', asked));
}

/** OAuth 2.1 §4.1.2.1: a page, and no redirect. Some servers redirect all the same: here to loopback hosts only. */
function unknownClient(parts: Parts, request: RecordedRequest, redirectUri: string): Answer {
  const error = parts.settings.unknownClients;
  const isLoopback = loopbackHosts.has(URL.parse(redirectUri)?.hostname ?? '');
  if (error === 'page' || !isLoopback) return html('<h1>invalid_client</h1>', 400);
  return redirected(parts, request, redirectUri, { error });
}

function redirected(
  parts: Parts,
  request: RecordedRequest,
  redirectUri: string,
  answer: Readonly<Record<string, string>>,
): Answer {
  const parameters = new URLSearchParams(answer);
  const state = request.query.get('state');
  if (state !== null) parameters.set('state', state);
  if (parts.settings.issInResponse) parameters.set('iss', parts.issuer);
  const bent = parts.bend.authorizeResponse?.(parameters, request) ?? parameters;
  const target = `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${bent.toString()}`;
  const reply = redirectTo(target);
  return parts.bend.authorizeAnswer?.(reply, request) ?? reply;
}

/** Parameters of an error redirect; undefined where a code may be given. */
function errorOf(
  { bend, settings }: Parts,
  request: RecordedRequest,
): Readonly<Record<string, string>> | undefined {
  const bent = bend.authorizeError?.(request);
  if (bent) return bent;
  const { query, form } = request;
  if (form.get('decision') === 'deny') return { error: 'access_denied' };
  try {
    once(query);
  } catch (error) {
    if (error instanceof Refusal) return { error: error.error, error_description: error.message };
    throw error;
  }
  if (settings.failsOnPrompts === 'redirect' && query.has('prompt')) return { error: 'invalid_request' };
  if (query.get('response_type') !== 'code') return { error: 'unsupported_response_type' };
  // OAuth 2.1 §7.5.1: PKCE, and nothing weaker than S256.
  if (
    query.get('code_challenge_method') !== 'S256' ||
    !/^[\w-]{43}$/.test(query.get('code_challenge') ?? '')
  ) {
    return { error: 'invalid_request', error_description: 'an S256 code_challenge is required' };
  }
  const resources = query.getAll('resource');
  if (settings.resourceRequired && resources.length === 0) {
    return { error: 'invalid_target', error_description: 'resource is missing' };
  }
  // RFC 8707 §2: an absolute URI without a fragment.
  if (resources.some((resource) => !URL.canParse(resource) || resource.includes('#'))) {
    return { error: 'invalid_target', error_description: 'resource is not an absolute URI' };
  }
  return undefined;
}

function mayRedirect({ settings }: Parts, client: BentClient, redirectUri: string): boolean {
  if (!URL.canParse(redirectUri)) return false;
  if (client.redirectUris.includes(redirectUri)) return true;
  const asked = new URL(redirectUri);
  if (settings.redirectMatching === 'exact' || !loopbackAddresses.has(asked.hostname)) return false;
  asked.port = '';
  return client.redirectUris.some((uri) => {
    const registered = new URL(uri);
    registered.port = '';
    return registered.href === asked.href;
  });
}

function newCode(parts: Parts, client: BentClient, request: RecordedRequest): string {
  const { query } = request;
  const { scopes } = client;
  const wanted = scopesOf(query) ?? parts.settings.defaultScope;
  const isBound = parts.settings.scopesByClient && scopes !== undefined;
  const registered = isBound ? wanted.filter((scope) => scopes.includes(scope)) : wanted;
  const asked = parts.settings.refreshTokens === 'afterConsent' ? consented(registered, query) : registered;
  const nonce = query.get('nonce');
  const code = randomValue();
  parts.store.codes.set(code, {
    grant: {
      clientId: client.clientId,
      subject: request.form.get('account') || parts.settings.subject,
      scopes: parts.bend.grantedScopes?.(asked, request) ?? asked,
      resources: query.getAll('resource'),
      ...(nonce === null ? {} : { nonce }),
      ended: false,
    },
    redirectUri: query.get('redirect_uri') ?? '',
    challenge: query.get('code_challenge') ?? '',
    used: false,
  });
  parts.counts.authorizations += 1;
  return code;
}

/** OpenID Connect Core §11: offline_access is ignored unless the user is asked for consent. */
function consented(scope: readonly string[], query: URLSearchParams): readonly string[] {
  const isAsked = query.get('prompt')?.split(' ').includes('consent') ?? false;
  return isAsked ? scope : scope.filter((name) => name !== 'offline_access');
}
