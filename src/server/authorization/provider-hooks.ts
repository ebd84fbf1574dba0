/**
 * What is added to oidc-provider's own handling: what a request may leave out, where its errors go, and what an
 * operator hears.
 *
 * Invariant: an event holds no token, code or secret.
 */
import { createHmac } from 'node:crypto';
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { z } from 'zod';
import { KeyturnError } from '../../base/errors.ts';
import { networkProblem } from '../../oauth/base/http.ts';
import { shownFault } from '../resource/base/fault.ts';
import { expected, listed } from '../resource/base/listed.ts';
import type { Settings } from './options.ts';
import { isLocal, redirectProblem } from './clients/redirect.ts';
import { errorPage, pageHeaders } from './base/pages.ts';
import type { OidcProvider } from './base/peer.ts';
import { unasked } from './consent-policy.ts';
import { mayHave, pathOf } from './provider-settings.ts';
import { oneSpelling, stated, withScope } from './rewritten-request.ts';

/**
 * Fills what a request may leave out, and leaves out what says nothing here. The provider by itself refuses a request
 * without scope, and drops `offline_access` unless `prompt=consent` comes with it.
 */
export function completeRequests(provider: Provider, { resources, issuer, clients }: Settings): void {
  provider.use(async (ctx, next) => {
    // Also for HEAD: the provider keeps what that asks, as it does for GET.
    if (ctx.path === '/auth') {
      const query = stated(new URLSearchParams(ctx.querystring));
      for (const name of [unasked, ended]) query.delete(name);
      oneSpelling(query, resources);
      onlyKnownPrompts(query);
      const known = withScope(query, resources);
      // RFC 6749 §3.3: it may ignore some of them. The page and the code then name what the token gets.
      const scopes = query.get('scope')?.split(' ') ?? [];
      const clientId = query.get('client_id');
      const servable = scopes.filter(
        (scope) =>
          ownScopes.has(scope) ||
          (Object.hasOwn(known?.scopes ?? {}, scope) && mayHave(clients, clientId, scope)),
      );
      const fault = faultOf(query, servable);
      if (fault !== undefined) query.set(ended, fault);
      query.set('scope', servable.join(' ') || 'openid');
      // OpenID Connect Core §3.1.2.1: they mean something beside `openid` only.
      if (!servable.includes('openid')) for (const name of ofOpenId) query.delete(name);
      if (servable.includes('offline_access') && !query.has('prompt')) {
        query.set('prompt', 'consent');
        query.set(unasked, '1');
      }
      ctx.querystring = query.toString();
      // The provider finds its own path by comparing the two.
      Object.assign(ctx.req, { originalUrl: pathOf(issuer) + ctx.url });
    }
    await next();
  });
}

const ofOpenId = ['acr_values', 'id_token_hint', 'max_age', 'nonce'];

/** OpenID Connect Core §3.1.2.1 and Prompt Create 1.0: to choose or make an account, a user signs in. */
const prompts = new Map([
  ['consent', 'consent'],
  ['create', 'login'],
  ['login', 'login'],
  ['none', 'none'],
  ['select_account', 'login'],
]);

/** OpenID Connect Core §3.1.2.1 lets a server ignore the others. */
function onlyKnownPrompts(query: URLSearchParams): void {
  const known =
    query
      .get('prompt')
      ?.split(' ')
      .flatMap((prompt) => prompts.get(prompt) ?? []) ?? [];
  if (known.length > 0) query.set('prompt', [...new Set(known)].join(' '));
  else query.delete('prompt');
}

/** What ends the request, once the provider knows that its redirect URI is good. */
const ended = 'keyturn_ended';

/** What the app is told, by error code. */
const faults = {
  // A token is for one protected server here (RFC 8707 §2 lets a server restrict that).
  invalid_target: 'The app asks for several servers at once. This server issues a token for one.',
  invalid_request: 'This server answers in the query only.',
  invalid_scope: 'The app asks for nothing that this server knows.',
} as const;

function faultOf(query: URLSearchParams, servable: readonly string[]): keyof typeof faults | undefined {
  if (query.getAll('resource').length > 1) return 'invalid_target';
  const mode = query.get('response_mode') ?? 'query';
  // The provider would answer in the way that was asked for, and its page for that has a script.
  query.delete('response_mode');
  if (mode !== 'query') return 'invalid_request';
  return servable.length === 0 ? 'invalid_scope' : undefined;
}

/** Parameters of our own, and what the provider makes of them. */
export function ownParameters({
  CustomOIDCProviderError,
}: OidcProvider['errors']): NonNullable<Configuration['extraParams']> {
  return {
    [unasked]: null,
    [ended]: (_ctx, fault) => {
      if (isFault(fault)) throw new CustomOIDCProviderError(fault, faults[fault]);
    },
  };
}

function isFault(fault: unknown): fault is keyof typeof faults {
  return typeof fault === 'string' && Object.hasOwn(faults, fault);
}

/** Scopes that every server has. */
const ownScopes: ReadonlySet<string> = new Set(['openid', 'offline_access']);

/** RFC 8414 §2: the provider by itself names modes that `faultOf` refuses. */
export function publishServedModes(provider: Provider): void {
  provider.use(async (ctx, next) => {
    await next();
    const { success, data } = metadata.safeParse(ctx.body);
    if (success) ctx.body = { ...data, response_modes_supported: ['query'] };
  });
}

const metadata = z.looseObject({ response_modes_supported: z.array(z.string()) });

/** RFC 7591 §3.2.2: the provider judges redirects by other rules first, and would name one of those. */
export function nameRealReason(provider: Provider): void {
  provider.use(async (ctx, next) => {
    await next();
    const answer = redirectRefusal.safeParse(ctx.body);
    const asked = registeredRedirects.safeParse(ctx.oidc?.body);
    if (!answer.success || !asked.success) return;
    const [problem] = asked.data.redirect_uris.flatMap((uri) => redirectProblem(uri) ?? []);
    if (problem !== undefined) ctx.body = { ...answer.data, error_description: problem };
  });
}

const redirectRefusal = z.looseObject({ error: z.literal('invalid_redirect_uri') });
const registeredRedirects = z.looseObject({ redirect_uris: z.array(z.string()) });

/**
 * OAuth 2.1 §7.12.2, MCP, Open Redirection: the error of a request leads a browser to no address that a stranger
 * registered, unless the user did something at this server before. The page names the host instead, with a link.
 */
export function keepErrors(provider: Provider, { clients, issuer }: Settings): void {
  const origin = new URL(issuer).origin;
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.path !== '/auth' || ctx.status < 300 || ctx.status > 399) return;
    const target = URL.parse(ctx.response.get('location'), origin);
    if (target === null || target.origin === origin) return;
    // The provider puts it behind the fragment where the request asks for a token in the redirect.
    const said = [target.searchParams, new URLSearchParams(target.hash.slice(1))].find((each) =>
      each.has('error'),
    );
    if (said === undefined) return;
    const clientId = new URLSearchParams(ctx.querystring).get('client_id');
    if (clients.some((client) => client.clientId === clientId)) return;
    // A program on the user's own machine waits there; no stranger has that address.
    if (isLocal(target.href)) return;
    ctx.remove('location');
    const problem = said.get('error_description') ?? 'it has a fault';
    const words = `The app’s request can’t be served: ${problem.replace(/\.$/, '')}. The app would take the answer at ${target.host}.`;
    ctx.status = 400;
    ctx.set(pageHeaders);
    ctx.body = errorPage(said.get('error') ?? 'invalid_request', words, target.href);
  });
}

/**
 * The successor of a refresh token follows from the token itself, so two refreshes at once get the same one, from each
 * process that shares the storage, and nothing has to be kept of it. Only who holds the token can make it again here.
 */
export function nameSuccessors(
  provider: Provider,
  secret: string,
  usedToken: () => string | undefined,
): void {
  const { prototype } = provider.RefreshToken;
  const random: unknown = Reflect.get(prototype, 'generateTokenId');
  if (typeof random !== 'function') throw new TypeError('oidc-provider makes refresh tokens in another way');
  Object.defineProperty(prototype, 'generateTokenId', {
    value(this: object): unknown {
      const used = usedToken();
      if (used === undefined) return random.call(this) as unknown;
      return createHmac('sha256', secret).update(`refresh token after ${used}`).digest('base64url');
    },
  });
}

/** Tells what the provider did. */
export function tellEvents(provider: Provider, { onEvent, resources }: Settings): void {
  provider.on('grant.success', (ctx) => {
    const { client, params } = ctx.oidc;
    const account = ctx.oidc.entities.AccessToken?.accountId;
    onEvent({
      kind: params?.['grant_type'] === 'refresh_token' ? 'refreshed' : 'token_issued',
      ...(client === undefined ? {} : { clientId: client.clientId }),
      ...(account === undefined ? {} : { account }),
    });
  });
  provider.on('registration_create.success', (_ctx, client) =>
    onEvent({ kind: 'registered', clientId: client.clientId }),
  );
  provider.on('grant.revoked', ({ oidc: { route, entities } }) => {
    // Elsewhere the provider ends a grant only because a code or a refresh token came twice.
    const kind = route === 'revocation' ? 'revoked' : 'replayed';
    onEvent({ kind, ...ownerOf(entities.RefreshToken ?? entities.AuthorizationCode) });
  });
  const refused = ({ oidc }: KoaContextWithOIDC, cause: Refused): void => {
    const { error } = cause;
    const clientId = oidc.client?.clientId ?? oidc.params?.['client_id'];
    // Of a sign-in that failed: why, for the operator alone.
    const told = oidc.entities.Interaction?.result?.['problem'];
    const problem =
      told ??
      (error === 'invalid_target'
        ? targetProblem(oidc.params, resources)
        : error === 'invalid_redirect_uri'
          ? redirectMismatch(oidc)
          : problemOf(cause));
    onEvent({
      kind: 'refused',
      ...(typeof clientId === 'string' ? { clientId } : {}),
      ...(error === undefined ? {} : { error }),
      ...(typeof problem === 'string' ? { problem } : {}),
    });
  };
  provider.on('server_error', ({ oidc }, fault) => {
    const clientId = oidc.client?.clientId;
    onEvent({ kind: 'failed', ...(clientId ? { clientId } : {}), problem: shownFault(fault) });
  });
  provider.on('grant.error', refused);
  provider.on('authorization.error', refused);
  provider.on('registration_create.error', refused);
}

/** A request for no known resource, several, or another one than its code or refresh token is for. */
function targetProblem(
  parameters: Readonly<Record<string, unknown>> | undefined,
  resources: Settings['resources'],
): string {
  const known = expected(resources.map(({ resource }) => resource));
  return `resource is ${listed(parameters?.['resource'])}; known: ${known}`;
}

function redirectMismatch({ params, client }: KoaContextWithOIDC['oidc']): string {
  return `redirect_uri is ${listed(params?.['redirect_uri'])}; registered: ${expected(client?.redirectUris ?? [])}`;
}

/** Whose a code or a refresh token is. */
export function ownerOf(token: unknown): { readonly clientId?: string; readonly account?: string } {
  const { data } = owner.safeParse(token);
  return data ? { clientId: data.clientId, account: data.accountId } : {};
}

const owner = z.object({ clientId: z.string(), accountId: z.string() });

/** An error of the provider. Its words name rules, and no secret. */
interface Refused {
  readonly error?: string;
  readonly error_description?: string;
  readonly error_detail?: string;
  readonly cause?: unknown;
}

/** Why a document or a key set of the client can't be had, or which rule the request breaks. */
function problemOf({ cause, error_detail, error_description }: Refused): string | undefined {
  const own = [cause, cause instanceof Error ? cause.cause : cause].find(
    (each) => each instanceof KeyturnError,
  );
  if (own) return own.message;
  const isFetch = cause instanceof TypeError || cause instanceof DOMException;
  return isFetch ? networkProblem(cause) : (error_detail ?? error_description);
}
