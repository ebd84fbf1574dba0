/**
 * The servers of `keyturn dev-server`: an authorization server, a protected server that takes its tokens, and in
 * third-party mode the service behind them.
 *
 * Invariant: all listen on 127.0.0.1 with TLS and nowhere else. After `close` none of them listens, and what was not to
 * be kept is gone.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { authorizationServer, developmentLogin, sqliteStorage } from '../server/authorization/index.ts';
import type { AuthorizationEvent, ResourceOptions, Storage } from '../server/authorization/index.ts';
import { jwt, protectedServer } from '../server/index.ts';
import type { Access, ServerEvent, SessionState, VerifiedToken } from '../server/index.ts';
import { fetchListener } from '../server/node.ts';
import { sealedStorage, thirdPartyServer } from '../server/third-party/index.ts';
import type { SessionEvent } from '../server/third-party/index.ts';
import type { ServeConfiguration } from './configuration.ts';
import { certificatesIn } from './kept-certificate.ts';
import { notebook, notebookScopes, toolScopes } from './notebook.ts';
import { keptNotes, type Notes } from './notes.ts';
import { listenOnLoopback, type TlsListener } from './tls-listener.ts';
import { trustingFetch } from './trusting-fetch.ts';
import { notesAt, serveUpstream, upstreamScopes } from './upstream.ts';

export type ServeEvent =
  | { readonly server: 'authorization'; readonly event: AuthorizationEvent | SessionEvent }
  | { readonly server: 'protected'; readonly event: ServerEvent }
  | { readonly server: 'upstream'; readonly event: AuthorizationEvent };

export interface Servers {
  readonly issuer: string;
  /** The endpoint of the protected server, which is its `resource` as well. */
  readonly resource: string;
  /** The issuer that people sign in at, in third-party mode. */
  readonly upstream?: string;
  /** PEM file of the authority that clients have to trust. */
  readonly authorityFile: string;
  close(): Promise<void>;
}

/** Least scope of any request. */
const basicScopes = ['notes:read'];

/** How long a nonce counts. Its end makes a client meet a second one within a trial. */
const nonceSeconds = 60;

/** Everybody here has one address. */
const manyFailures = { requests: 10_000, seconds: 60 };

export async function startServers(
  configuration: ServeConfiguration,
  onEvent: (event: ServeEvent) => void = () => undefined,
): Promise<Servers> {
  const folder = configuration.folder ?? mkdtempSync(path.join(tmpdir(), 'keyturn-serve-'));
  const open: { close(): unknown }[] = [];
  const close = async (): Promise<void> => {
    for (const each of open.toReversed()) await each.close();
    if (configuration.folder === undefined) rmSync(folder, { recursive: true, force: true });
  };
  const opened = <T extends { close(): unknown }>(part: T): T => {
    open.push(part);
    return part;
  };
  try {
    const { certificates, authorityFile } = await certificatesIn(folder);
    const listen = async (port: number): Promise<TlsListener> =>
      opened(await listenOnLoopback(certificates, port));
    const login = await listen(configuration.authorizationServer.port);
    const endpoint = await listen(configuration.protectedServer.port);
    const { fetch } = opened(trustingFetch(certificates.ca));
    const resource = endpoint.origin + configuration.protectedServer.path;
    const parts = { configuration, folder, resource, onEvent, fetch, authorities: certificates.ca };
    const { upstream } = configuration;
    const source =
      upstream === undefined
        ? opened(await serveLogin(login, parts))
        : opened(await serveThirdParty(login, await listen(upstream.port), parts));
    serveNotebook(endpoint, login.origin, source, parts);
    const shown = source.upstream === undefined ? {} : { upstream: source.upstream };
    return { issuer: login.origin, resource, ...shown, authorityFile, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Parts {
  readonly configuration: ServeConfiguration;
  readonly folder: string;
  readonly resource: string;
  readonly onEvent: (event: ServeEvent) => void;
  /** Trusts the servers of this trial. */
  readonly fetch: typeof globalThis.fetch;
  /** PEM. */
  readonly authorities: string;
}

/** Where the notes of a request come from. */
interface Source {
  /** The issuer of the upstream, if there is one. */
  readonly upstream?: string;
  readonly checkSession?: (token: VerifiedToken) => Promise<SessionState>;
  notesFor(access: Access): Promise<Notes>;
  close(): Promise<void>;
}

async function serveLogin(listener: TlsListener, parts: Parts): Promise<Source> {
  const { accounts, accessTokenSeconds } = parts.configuration.authorizationServer;
  const storage = sqliteStorage(path.join(parts.folder, 'login.db'));
  const server = await authorizationServer({
    ...sharedOptions(listener, parts),
    resources: [notesOf(parts.resource)],
    accounts: developmentLogin(accounts),
    storage,
    lifetimes: { accessToken: accessTokenSeconds },
  });
  listener.serve(server.handler);
  const kept = keptNotes();
  return {
    notesFor: async ({ subject }) => kept(subject),
    async close() {
      await server.close();
      await storage.close();
    },
  };
}

/** The same for our clients, but people sign in at the upstream, where the notes lie. */
async function serveThirdParty(listener: TlsListener, behind: TlsListener, parts: Parts): Promise<Source> {
  const { configuration, folder, resource, onEvent, fetch, authorities } = parts;
  const { accounts, accessTokenSeconds } = configuration.authorizationServer;
  const stores = [storageIn(folder, 'upstream.db'), storageIn(folder, 'sessions.db')] as const;
  const upstream = await serveUpstream(behind, {
    accounts,
    storage: stores[0],
    redirectUri: `${listener.origin}/login/callback`,
    fetch,
    onEvent: (event) => onEvent({ server: 'upstream', event }),
  });
  const flow = await thirdPartyServer({
    ...sharedOptions(listener, parts),
    resource: notesOf(resource),
    upstream: {
      issuer: upstream.issuer,
      clientId: upstream.clientId,
      clientSecret: upstream.clientSecret,
      resource: upstream.resource,
      scopes: upstreamScopes,
      extraScopes: ['openid', 'offline_access'],
      authorities,
    },
    session: { accessToken: accessTokenSeconds },
    storage: stores[1],
  });
  listener.serve(flow.handler);
  return {
    upstream: upstream.issuer,
    checkSession: flow.checkSession,
    notesFor: async (access) => notesAt(upstream.resource, access.subject, await flow.upstream(access)),
    async close() {
      await flow.close();
      await upstream.close();
      for (const store of stores) await store.close();
    },
  };
}

/** Of the server that our clients see, in either mode. */
function sharedOptions({ origin }: TlsListener, { configuration, onEvent }: Parts) {
  const { registration, clientDocuments, clients } = configuration.authorizationServer;
  return {
    issuer: origin,
    registration,
    clientDocuments,
    clients,
    onEvent: (event: AuthorizationEvent | SessionEvent) => onEvent({ server: 'authorization', event }),
  };
}

/** Upstream tokens are kept sealed. In a trial the key is beside them. */
function storageIn(folder: string, name: string): Storage {
  const file = path.join(folder, 'sealing.key');
  if (!existsSync(file)) writeFileSync(file, randomBytes(32), { mode: 0o600, flag: 'wx' });
  return sealedStorage(sqliteStorage(path.join(folder, name)), [{ id: 'trial', key: readFileSync(file) }]);
}

function notesOf(resource: string): ResourceOptions {
  return { resource, name: 'Notes', scopes: notebookScopes, defaultScopes: basicScopes };
}

function serveNotebook(
  listener: TlsListener,
  issuer: string,
  source: Source,
  { configuration, resource, onEvent, fetch }: Parts,
): void {
  const isBound = configuration.protectedServer.dpop === 'required';
  const guard = protectedServer({
    resource,
    name: 'Notes',
    authorizationServers: [issuer],
    tokens: jwt({ clockToleranceSeconds: 0 }),
    fetch,
    scopes: { required: basicScopes },
    operations: { tools: toolScopes },
    ...(isBound ? { dpop: { required: true, nonceSeconds } } : {}),
    rateLimit: { failedTokens: manyFailures },
    ...(source.checkSession ? { checkSession: source.checkSession } : {}),
    onEvent: (event) => onEvent({ server: 'protected', event }),
  });
  const handler = notebook();
  listener.serve(
    fetchListener(guard, async (request, access) => {
      const { authInfo, body } = access;
      const extra = { ...authInfo.extra, notes: await source.notesFor(access) };
      return handler.fetch(request, { authInfo: { ...authInfo, extra }, parsedBody: body });
    }),
  );
}
