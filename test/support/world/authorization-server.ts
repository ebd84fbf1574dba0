/**
 * A real authorization server on the loopback address: oidc-provider over HTTPS.
 *
 * Invariant: `counts` tells what the provider did, from its own events and answers, never what a
 * caller says it did. Nothing is written to the terminal.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Provider } from 'oidc-provider';
import type { Certificates } from '../../../src/serve/certificate.ts';
import {
  type IntrospectionAccess,
  type KnownResource,
  providerConfiguration,
} from './provider-configuration.ts';
import { type Counts, countActions, noCounts } from './provider-counts.ts';
import { createProviderStore, type ForgettableKind } from './provider-store.ts';
import { signInPages } from './sign-in-pages.ts';
import { listenOnLoopback } from '../../../src/serve/tls-listener.ts';

/** The people of the demo. A name is the whole sign-in, and the subject (`sub`). */
export const demoAccounts = ['alice', 'bob'] as const;

export interface AuthorizationServerOptions {
  readonly certificates: Certificates;
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Seconds. The default is a few, so that a demo sees refreshes. */
  readonly accessTokenLifetime?: number;
  /** `opaque` tokens (the default) can be revoked and introspected; `jwt` ones are checked by their signature. */
  readonly accessTokenFormat?: 'opaque' | 'jwt';
  /** Who gets a refresh token: any client that may use one (the default), one that asked for `offline_access`, nobody. */
  readonly refreshTokens?: 'always' | 'offline_access' | 'never';
  /** Whether a client's authorizations by one person share one grant, so that revoking one ends them all. */
  readonly sharesGrants?: boolean;
  /** Seconds in which a used refresh token may be presented again; 0, the default, ends its grant instead. */
  readonly refreshGrace?: number;
  /** The scopes of MCP servers that the metadata lists beside `openid` and `offline_access`. */
  readonly scopes?: readonly string[];
  /** Proofs of a key must carry a nonce of the provider (RFC 9449 §8). */
  readonly wantsNonces?: boolean;
}

/**
 * What happens to the next token request. `pass`: it is served. `loseAnswer`: it is served, but the
 * connection breaks before the answer. `answerAfter`: it is served, and the answer waits. A status: it is answered so, and the provider never sees it;
 * `retryAfter` in seconds.
 */
export type TokenVerdict =
  | 'pass'
  | 'loseAnswer'
  | { readonly answerAfter: Promise<unknown> }
  | { readonly status: number; readonly retryAfter?: number };

export interface AuthorizationServer {
  /** The issuer identifier; it ends without a slash. */
  readonly issuer: string;
  readonly port: number;
  readonly jwksUri: string;
  /** Live: read it again for newer numbers. */
  readonly counts: Readonly<Counts>;
  /** The identity with which an MCP server introspects tokens. */
  readonly introspection: IntrospectionAccess;
  addResource(resource: KnownResource): void;
  /** Asked before each token request, and waited for; none lets all pass. */
  setTokenGate(gate?: () => TokenVerdict | Promise<TokenVerdict>): void;
  /** Ends all access tokens, refresh tokens, grants or registered clients, as an administrator would; answers how many. */
  forget(kind: ForgettableKind): number;
  /** True while this refresh token, as its holder has it, would be taken. */
  honours(refreshToken: string): boolean;
  /** True while anybody is connected, or a token request is being served though its client may be gone. */
  isBusy(): boolean;
  /** Every opaque token and code that it ever issued: what must be found nowhere else. Live. */
  readonly issued: readonly string[];
  close(): Promise<void>;
}

/** Long enough for one call, short enough that a demo of a minute refreshes several times. */
const defaultLifetime = 5;

/** 256 bits, as for any key. */
const secretBytes = 32;

export async function startAuthorizationServer(
  options: AuthorizationServerOptions,
): Promise<AuthorizationServer> {
  const listener = await listenOnLoopback(options.certificates, options.port ?? 0);
  const issuer = listener.origin;
  const introspection = {
    endpoint: `${issuer}/token/introspection`,
    clientId: 'protected-server',
    clientSecret: randomBytes(secretBytes).toString('base64url'),
  };
  const store = createProviderStore(options.refreshGrace);
  const resources = new Map<string, KnownResource>();
  const provider = new Provider(
    issuer,
    providerConfiguration({
      store,
      resources,
      introspection,
      accounts: demoAccounts,
      accessTokenLifetime: options.accessTokenLifetime ?? defaultLifetime,
      accessTokenFormat: options.accessTokenFormat ?? 'opaque',
      refreshTokens: options.refreshTokens ?? 'always',
      scopes: options.scopes ?? [],
      wantsNonces: options.wantsNonces ?? false,
    }),
  );
  // Koa would print errors; they are counted instead.
  provider.silent = true;
  const counts = noCounts();
  countActions(provider, counts);
  completeRequests(provider, resources);

  let gate: (() => TokenVerdict | Promise<TokenVerdict>) | undefined;
  const serving = new Set<unknown>();
  listener.serve(
    dispatcher({
      provider: answerByProvider(provider),
      pages: signInPages(provider, {
        accounts: demoAccounts,
        onSignIn: () => (counts.signIns += 1),
        ...(options.sharesGrants ? { sharedGrants: new Map<string, string>() } : {}),
      }),
      counts,
      serving,
      gate: async () => (gate ? gate() : 'pass'),
    }),
  );
  return {
    issuer,
    port: listener.port,
    jwksUri: `${issuer}/jwks`,
    counts,
    introspection,
    addResource: (resource) => void resources.set(resource.resource, resource),
    setTokenGate: (next) => void (gate = next),
    forget: (kind) => store.forget(kind),
    honours: (refreshToken) => store.honours(refreshToken),
    isBusy: () => listener.connections() > 0 || serving.size > 0,
    issued: store.issued,
    close: () => listener.close(),
  };
}

/**
 * Fills what a request may leave out. The provider by itself answers `access_denied` to a request
 * without scope, and drops `offline_access` unless `prompt=consent` is sent with it; consent is asked
 * for here at every authorization anyway.
 */
function completeRequests(provider: Provider, resources: ReadonlyMap<string, KnownResource>): void {
  provider.use(async (ctx, next) => {
    if (ctx.method === 'GET' && ctx.path === '/auth') {
      const query = new URLSearchParams(ctx.querystring);
      const known = resources.get(query.get('resource') ?? '');
      if (!query.get('scope') && known) query.set('scope', known.defaultScopes.join(' '));
      const offline = query.get('scope')?.split(' ').includes('offline_access') ?? false;
      if (offline && !query.has('prompt')) query.set('prompt', 'consent');
      ctx.querystring = query.toString();
    }
    await next();
  });
}

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The provider answers every error itself; the promise it returns only tells when. */
function answerByProvider(provider: Provider): RequestHandler {
  const answer = provider.callback();
  return async (request, response) => answer(request, response);
}

interface DispatcherParts {
  readonly provider: RequestHandler;
  readonly pages: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly gate: () => Promise<TokenVerdict>;
  readonly counts: Counts;
  /** The token requests that are being served. */
  readonly serving: Set<unknown>;
}

function dispatcher({ provider, pages, gate, counts, serving }: DispatcherParts): RequestListener {
  return (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '/';
    if (path.startsWith('/interaction/')) {
      void pages(request, response);
    } else if (request.method === 'POST' && path === '/token') {
      counts.tokenRequests += 1;
      serving.add(request);
      const served = gate().then(async (verdict) => {
        if (typeof verdict === 'object' && 'status' in verdict) return refuse(response, verdict);
        if (verdict === 'loseAnswer') loseAnswer(request, response);
        else if (typeof verdict === 'object') holdAnswer(response, verdict.answerAfter);
        return provider(request, response);
      });
      void served.finally(() => serving.delete(request));
    } else {
      void provider(request, response);
    }
  };
}

function refuse(response: ServerResponse, verdict: { status: number; retryAfter?: number }): void {
  if (verdict.retryAfter !== undefined) response.setHeader('retry-after', String(verdict.retryAfter));
  response.writeHead(verdict.status, { 'content-type': 'text/plain' }).end('unavailable\n');
}

/** Nothing is sent until the response ends, which waits. */
function holdAnswer(response: ServerResponse, until: Promise<unknown>): void {
  const end = response.end.bind(response);
  response.end = (body?: unknown) => {
    void until.then(() => end(body));
    return response;
  };
}

/** Nothing has been sent until a response ends, so that breaking the connection there loses all of it. */
function loseAnswer(request: IncomingMessage, response: ServerResponse): void {
  response.end = () => {
    request.socket.destroy();
    return response;
  };
}
