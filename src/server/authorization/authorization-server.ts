/**
 * `@keyturn/server/authorization`: an authorization server to embed, on oidc-provider.
 *
 * Invariant: everything that it must remember is in the storage, so a new process goes on where the last one ended. It
 * listens nowhere by itself: `handler` belongs to a server of Node that the program made.
 */
import { randomBytes, createHash } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { z } from 'zod';
import { KeyturnError } from '../../base/errors.ts';
import { requireRuntime } from '../../base/runtime.ts';
import { isOfLeaving, targetOf } from '../node-request.ts';
import { shownFault } from '../resource/base/fault.ts';
import { memoryStorage } from '../storage/memory.ts';
import type { Storage, StoredItem } from '../storage/storage.ts';
import { adapterFor } from './adapter.ts';
import { openRegistration } from './clients/browser-access.ts';
import { Consents, type Consent } from './consents.ts';
import { guardedFetch, type GuardedFetch } from './clients/client-document.ts';
import { acceptAssertions } from './identity-assertion.ts';
import { answerInteraction } from './interactions.ts';
import { callerIn, limitsOf } from './limits.ts';
import { readAuthorizationOptions, type AuthorizationServerOptions, type Settings } from './options.ts';
import { answerHeaders, errorPage } from './base/pages.ts';
import { loadOidcProvider, type OidcProvider } from './base/peer.ts';
import { rewrittenRequest } from './rewritten-request.ts';
import {
  completeRequests,
  keepErrors,
  nameRealReason,
  nameSuccessors,
  ownerOf,
  ownParameters,
  publishServedModes,
  tellEvents,
} from './provider-hooks.ts';
import { pathOf, providerSettings } from './provider-settings.ts';
import { clientUsed } from './clients/registered-clients.ts';
import { signingKeys } from './signing-keys.ts';
import { send } from './step.ts';

export interface AuthorizationServer {
  readonly issuer: string;
  /** Serves the issuer's paths and its well-known addresses; answers 404 to others. */
  readonly handler: RequestListener;
  /** True for a path of this server, for a program that serves more. */
  serves(path: string): boolean;
  /** What this account allowed and isn't asked again. */
  consents(account: string): Promise<readonly Consent[]>;
  /**
   * The account is asked again, and every refresh token and code that the client got by it ends. Its access tokens last
   * until their own end.
   */
  withdrawConsent(account: string, clientId: string): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds between two sweeps of what expired. */
const sweepInterval = 60 * 1000;

/** Characters of a request's target. What `/auth` is asked is kept until the user answered, and anybody can ask. */
const maxTargetLength = 8 * 1024;

/** Throws invalid_request, with the option's name, where an option can't be used or oidc-provider isn't installed. */
export async function authorizationServer(options: AuthorizationServerOptions): Promise<AuthorizationServer> {
  requireRuntime('@keyturn/server');
  const settings = readAuthorizationOptions(options);
  const storage = settings.storage ?? memoryStorage();
  const fetch = guardedFetch(settings.issuer, {
    authorities: settings.authorities,
    named: settings.assertionProviders.map(({ jwksUri }) => jwksUri),
    now: settings.now,
  });
  const secrets = await kept(storage);
  const { now, lifetimes } = settings;
  const consents = new Consents({ storage, now, refreshToken: lifetimes.refreshToken });
  const parts = { settings, storage, fetch, secrets, consents };
  const providers = await currentProvider(parts, await loadOidcProvider());
  const timer = setInterval(() => {
    // What stays is compared with the time when it is read. The next run tries again.
    storage.removeExpired(Math.floor(settings.now() / 1000)).catch(() => undefined);
  }, sweepInterval);
  timer.unref();
  const answer = answerer(parts, providers);
  const paths = pathsOf(settings.issuer);
  return {
    issuer: settings.issuer,
    consents: async (account) => consents.list(account),
    withdrawConsent: async (account, clientId) => consents.withdraw(account, clientId),
    serves: (path) => paths.within(path) !== undefined,
    handler(request, response) {
      for (const [name, value] of Object.entries(answerHeaders)) response.setHeader(name, value);
      answer(request, response).catch((error: unknown) => {
        const isFault = !isOfLeaving(error, request, response);
        if (response.headersSent) response.destroy();
        else if (request.headers.accept?.includes('text/html'))
          send(response, 500, errorPage('server_error', 'This server has met an error of its own.'));
        else refuse(response, 500);
        if (isFault) settings.onEvent({ kind: 'failed', problem: shownFault(error) });
      });
    },
    async close() {
      clearInterval(timer);
      await fetch.close();
      if (settings.storage === undefined) await storage.close();
    },
  };
}

interface ServerParts {
  readonly settings: Settings;
  readonly storage: Storage;
  readonly fetch: GuardedFetch;
  readonly consents: Consents;
  readonly secrets: z.infer<typeof secretSchema>;
}

interface CurrentProvider {
  /** The one that serves now; `get` may replace it. */
  latest(): Provider;
  /** Where the next key signs from now on, a new provider takes over. Its state is in the storage. */
  get(): Promise<Provider>;
}

async function currentProvider(parts: ServerParts, oidc: OidcProvider): Promise<CurrentProvider> {
  let built = await build(parts, oidc);
  let building: Promise<Built> | undefined;
  return {
    latest: () => built.provider,
    async get() {
      if (parts.settings.now() / 1000 >= built.changesAt) {
        // One build for all who wait. A failed one is tried again at the next request.
        building ??= build(parts, oidc).finally(() => {
          building = undefined;
        });
        built = await building;
      }
      return built.provider;
    },
  };
}

interface Built {
  readonly provider: Provider;
  /** Seconds since 1970. */
  readonly changesAt: number;
}

async function build(
  { settings, storage, fetch, secrets, consents }: ServerParts,
  oidc: OidcProvider,
): Promise<Built> {
  const { now, keyRotation, lifetimes, issuer, onEvent } = settings;
  const times = { rotation: keyRotation, longestToken: lifetimes.accessToken, now };
  const { keys, changesAt } = await signingKeys(storage, times);
  const { errors, interactionPolicy } = oidc;
  const { forwarding } = settings.accounts;
  const ended = (grantId: string | undefined): void => {
    // What fails here, the next look at the grant makes good.
    if (grantId !== undefined) forwarding?.ended(grantId).catch(() => undefined);
  };
  const onReplay = (used: StoredItem | undefined): void => {
    onEvent({ kind: 'replayed', ...ownerOf(used?.payload) });
    ended(used?.grantId);
  };
  const askedResource = (): unknown => oidc.Provider.ctx?.oidc.params?.['resource'];
  const graceSeconds = lifetimes.refreshGrace;
  const adapter = adapterFor({ storage, errors, now, askedResource, onReplay, graceSeconds });
  const parts = { settings, fetch, errors, interactionPolicy, consents, adapter, keys };
  const provider = new oidc.Provider(issuer, {
    ...providerSettings({ ...parts, cookieKeys: [secrets.cookies] }),
    extraParams: ownParameters(errors),
  });
  // Koa would print errors.
  provider.silent = true;
  // `asIssuer` writes the headers that this makes count.
  provider.proxy = true;
  tellClientsApart(provider);
  keepErrors(provider, settings);
  completeRequests(provider, settings);
  nameRealReason(provider);
  publishServedModes(provider);
  tellEvents(provider, settings);
  provider.on('grant.revoked', (_ctx, grantId) => ended(grantId));
  provider.on('grant.success', (ctx) => {
    const { client } = ctx.oidc;
    for (const url of [client?.clientId, client?.jwksUri])
      if (url?.startsWith('https:')) fetch.turns.know(url);
    // Where the storage fails, the client's next token does it.
    if (client) clientUsed(storage, client.clientId, Math.floor(now() / 1000)).catch(() => undefined);
  });
  nameSuccessors(provider, secrets.forms, () => oidc.Provider.ctx?.oidc.entities.RotatedRefreshToken?.jti);
  if (settings.assertionProviders.length > 0)
    acceptAssertions(provider, { settings, storage, fetch, errors });
  return { provider, changesAt };
}

function answerer({ settings, storage, fetch, secrets, consents }: ServerParts, providers: CurrentProvider) {
  const limits = limitsOf(settings);
  const interaction = {
    settings,
    provider: () => providers.latest(),
    storage,
    consents,
    secret: secrets.forms,
  };
  const paths = pathsOf(settings.issuer);
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = targetOf(request);
    // RFC 9112 §3.2.2: the absolute form names a host, and the provider would take it for its own.
    if (!url.startsWith('/')) return refuse(response, 400);
    if (url.length > maxTargetLength) return refuse(response, 414);
    const provider = await providers.get();
    // A framework strips its mount path, which is the issuer's path or what a proxy puts before it.
    const path = (paths.prefix === '' ? undefined : paths.within(url)) ?? paths.within(request.url ?? '/');
    if (path === undefined || !isExact(path)) return refuse(response, 404);
    if (path.startsWith('/login/') && settings.accounts.callback) {
      return settings.accounts.callback(request, response);
    }
    const isOpen = settings.registration !== 'off';
    if (isOpen && /^\/reg(?:[/?]|$)/.test(path) && openRegistration(request, response)) return;
    const caller = callerIn(request, settings.trustedProxies);
    const wait = limits(request.method, path, caller);
    if (wait !== undefined) return refuse(response, 429, wait);
    return fetch.turns.askedBy(caller.site ?? caller.key, async () => {
      if (path.startsWith('/interaction/')) return answerInteraction(interaction, request, response);
      const rewritten = await rewrittenRequest(request, path, settings.resources);
      if (rewritten === undefined) return refuse(response, 413);
      // The provider finds its mount path by comparing the two.
      Object.assign(rewritten, { originalUrl: paths.prefix + path, url: path });
      asIssuer(rewritten, settings.issuer);
      return provider.callback()(rewritten, response);
    });
  };
}

/**
 * Every URL that the provider writes is the issuer's, and its cookies are secure where the issuer is: whatever a client
 * or a proxy in front says of the host.
 */
function asIssuer({ headers }: IncomingMessage, issuer: string): void {
  const { host, protocol } = new URL(issuer);
  for (const name of Object.keys(headers)) if (name.startsWith('x-forwarded-')) delete headers[name];
  headers.host = host;
  headers['x-forwarded-proto'] = protocol.slice(0, -1);
}

/** The issuer's paths, as the provider has them: without the issuer's own path. */
function pathsOf(issuer: string): { readonly prefix: string; within(url: string): string | undefined } {
  const prefix = pathOf(issuer);
  const wellKnown = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `/.well-known/${name}`,
  );
  return {
    prefix,
    within(url) {
      const path = url.split('?', 1)[0] ?? '/';
      // RFC 8414 §3.1: the well-known part is before the issuer's path; OpenID Connect Discovery puts it behind.
      const inserted = wellKnown.find((each) => path === each + prefix);
      if (inserted !== undefined) return inserted;
      if (prefix === '') return url;
      return path.startsWith(`${prefix}/`) ? url.slice(prefix.length) : undefined;
    },
  };
}

/** The provider would also serve an address in capitals or with a slash at its end, which our own rules don't know. */
const isExact = (path: string): boolean => /^\/[a-z._-]+(?:\/[^/?]+)*(?:\?|$)/.test(path);

const secretSchema = z.object({ cookies: z.string(), forms: z.string() });

/**
 * Secrets of the pages, and for the successors of refresh tokens. They outlive a restart, so that a user in the middle
 * of a sign-in can go on.
 */
async function kept(storage: Storage): Promise<z.infer<typeof secretSchema>> {
  // Another process on the same storage may start at the same time: the first one's count.
  await storage.add('Secret', 'pages', { payload: { cookies: secret(), forms: secret() } });
  const parsed = secretSchema.safeParse((await storage.get('Secret', 'pages'))?.payload);
  if (parsed.success) return parsed.data;
  throw new KeyturnError('file_unreadable', "The storage can't be read: what it holds was sealed.", {
    hint: 'Pass it through sealedStorage, with the keys that sealed it.',
  });
}

const secret = (): string => randomBytes(32).toString('base64url');

function refuse(response: ServerResponse, status: number, retryAfter?: number): void {
  const error = status === 429 ? { error: 'temporarily_unavailable' } : undefined;
  response.writeHead(status, {
    'cache-control': 'no-store',
    ...(error ? { 'content-type': 'application/json' } : {}),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  });
  response.end(error && JSON.stringify(error));
}

/**
 * The provider names an assertion by the client's id and its own `jti` in one string, so that "a" with "b1" and "ab"
 * with "1" were the same. A digest in the place of the `jti` has one length, and says where the client's id ends.
 */
function tellClientsApart({ ReplayDetection }: Provider): void {
  const unique = ReplayDetection.unique.bind(ReplayDetection);
  ReplayDetection.unique = async (client, jti, end) =>
    // As JSON: the provider takes a `jti` of any type.
    unique(client, createHash('sha256').update(JSON.stringify(jti)).digest('base64url'), end);
}
