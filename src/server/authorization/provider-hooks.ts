/**
 * What is added to oidc-provider's own handling: what a request may leave out, and what an operator hears.
 *
 * Invariant: an event holds no token, code or secret.
 */
import { createHmac } from 'node:crypto';
import type { Provider } from 'oidc-provider';
import { z } from 'zod';
import type { AuthorizationEvent, AuthorizationServerOptions, ResourceOptions, Settings } from './options.ts';
import { unasked } from './consent-policy.ts';
import { isLocal, redirectProblem } from './clients/redirect.ts';
import { errorPage, pageHeaders } from './base/pages.ts';
import { oneSpelling } from './rewritten-request.ts';
import { defaultScopesOf, pathOf } from './provider-settings.ts';

/**
 * Fills what a request may leave out. The provider by itself refuses a request without scope, and drops
 * `offline_access` unless `prompt=consent` comes with it.
 */
export function completeRequests(provider: Provider, { resources, issuer }: Settings): void {
  provider.use(async (ctx, next) => {
    // Also for HEAD: the provider keeps what that asks, as it does for GET.
    if (ctx.path === '/auth') {
      const query = new URLSearchParams(ctx.querystring);
      oneSpelling(
        query,
        resources.map(({ resource }) => resource),
      );
      onlyKnownPrompts(query);
      // A token is for one protected server here (RFC 8707 §2 lets a server restrict that).
      if (query.getAll('resource').length > 1) return showError(ctx, 'invalid_target', oneResource);
      // The provider's own page for it has a script.
      if (!['query', null].includes(query.get('response_mode')))
        return showError(ctx, 'invalid_request', 'This server answers in the query only.');
      const known = resources.find(({ resource }) => resource === query.get('resource')) ?? resources[0];
      if (!query.get('scope') && known) query.set('scope', defaultScopesOf(known).join(' '));
      // RFC 6749 §3.3: it may ignore some of them. The page and the code then name what the token gets.
      const scopes = query.get('scope')?.split(' ') ?? [];
      const servable = scopes.filter((scope) => isServable(scope, known));
      if (servable.length > 0) query.set('scope', servable.join(' '));
      else if (known) return showError(ctx, 'invalid_scope', noScope);
      const isOffline = query.get('scope')?.split(' ').includes('offline_access') ?? false;
      query.delete(unasked);
      if (isOffline && !query.has('prompt')) {
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

/** OpenID Connect Core §3.1.2.1 and Prompt Create 1.0: to choose or make an account, a person signs in. */
const prompts: Readonly<Record<string, string>> = { select_account: 'login', create: 'login' };

function onlyKnownPrompts(query: URLSearchParams): void {
  const asked = query.get('prompt');
  if (asked === null) return;
  const known = [
    ...new Set(
      asked
        .split(' ')
        .filter(Boolean)
        .map((prompt) => prompts[prompt] ?? prompt),
    ),
  ];
  if (known.length > 0) query.set('prompt', known.join(' '));
  else query.delete('prompt');
}

function isServable(scope: string, resource: ResourceOptions | undefined): boolean {
  return ownScopes.includes(scope) || (resource !== undefined && Object.hasOwn(resource.scopes, scope));
}

/** Scopes that every server has. */
const ownScopes = ['openid', 'offline_access'];

const noScope = 'The app asks for nothing that this server knows.';

const oneResource = 'The app asks for several servers at once. This server issues a token for one.';

function showError(ctx: KoaContext, error: string, said: string, back?: string): void {
  ctx.status = 400;
  ctx.set(pageHeaders);
  ctx.body = errorPage(error, said, back);
}

type KoaContext = Parameters<Parameters<Provider['use']>[0]>[0];

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
 * OAuth 2.1 §7.12.2, spec, Open redirection 7: the error of a request leads a browser to no address that a stranger
 * registered, unless the person did something at this server before. The page names the host instead, with a link.
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
    // A program on the person's own machine waits there; no stranger has that address.
    if (isLocal(target.href)) return;
    ctx.remove('location');
    const problem = said.get('error_description') ?? 'it has a fault';
    const words = `The app’s request can’t be served: ${problem}. The app would take the answer at ${target.host}.`;
    showError(ctx, said.get('error') ?? 'invalid_request', words, target.href);
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
export function tellEvents(provider: Provider, onEvent: (event: AuthorizationEvent) => void): void {
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
  provider.on('grant.revoked', () => onEvent({ kind: 'revoked' }));
  const refused = (
    ctx: { oidc: { client?: { clientId: string } | undefined } },
    error: { error?: string },
  ): void => {
    const clientId = ctx.oidc.client?.clientId;
    onEvent({
      kind: 'refused',
      ...(clientId === undefined ? {} : { clientId }),
      ...(error.error === undefined ? {} : { error: error.error }),
    });
  };
  provider.on('grant.error', refused);
  provider.on('authorization.error', refused);
  provider.on('registration_create.error', refused);
}

/** What an operator passed in, made safe to call. */
export function quietly(onEvent: AuthorizationServerOptions['onEvent']): (event: AuthorizationEvent) => void {
  return (event) => {
    try {
      onEvent?.(event);
    } catch {
      // An audit log that fails must not change an answer.
    }
  };
}
