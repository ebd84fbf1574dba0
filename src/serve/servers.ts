/**
 * The two servers of `keyturn serve`: an authorization server, and a protected server that takes its tokens.
 *
 * Invariant: both listen on 127.0.0.1 with TLS and nowhere else. After `close` neither of them listens, and what was
 * not to be kept is gone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { authorizationServer, developmentLogin, sqliteStorage } from '../server/authorization/index.ts';
import type { AuthorizationEvent, ResourceOptions } from '../server/authorization/index.ts';
import { jwt, protectedServer } from '../server/index.ts';
import type { ServerEvent } from '../server/index.ts';
import { fetchListener } from '../server/node.ts';
import type { ServeConfiguration } from './configuration.ts';
import { certificatesIn, type KeptCertificates } from './kept-certificate.ts';
import { notebook, notebookScopes, toolScopes } from './notebook.ts';
import { listenOnLoopback, type TlsListener } from './tls-listener.ts';
import { trustingFetch } from './trusting-fetch.ts';

export type ServeEvent =
  | { readonly server: 'authorization'; readonly event: AuthorizationEvent }
  | { readonly server: 'protected'; readonly event: ServerEvent };

export interface Servers {
  readonly issuer: string;
  /** The endpoint of the protected server, which is its `resource` as well. */
  readonly resource: string;
  /** PEM file of the authority that clients have to trust. */
  readonly authorityFile: string;
  close(): Promise<void>;
}

/** Least scope of any request. */
const basicScopes = ['notes:read'];

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
  try {
    const kept = await certificatesIn(folder);
    const listen = async (port: number): Promise<TlsListener> => {
      const listener = await listenOnLoopback(kept.certificates, port);
      open.push(listener);
      return listener;
    };
    const login = await listen(configuration.authorizationServer.port);
    const endpoint = await listen(configuration.protectedServer.port);
    const resource = endpoint.origin + configuration.protectedServer.path;
    open.push(await serveLogin(login, { configuration, folder, resource, onEvent }));
    open.push(serveNotebook(endpoint, { issuer: login.origin, resource, kept, onEvent }));
    return { issuer: login.origin, resource, authorityFile: kept.authorityFile, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Told {
  readonly onEvent: (event: ServeEvent) => void;
}

interface LoginParts extends Told {
  readonly configuration: ServeConfiguration;
  readonly folder: string;
  readonly resource: string;
}

async function serveLogin(
  listener: TlsListener,
  { configuration, folder, resource, onEvent }: LoginParts,
): Promise<{ close(): Promise<void> }> {
  const { accounts, registration, clientDocuments, clients, accessTokenSeconds } =
    configuration.authorizationServer;
  const storage = sqliteStorage(path.join(folder, 'login.db'));
  const notes: ResourceOptions = {
    resource,
    name: 'Notes',
    scopes: notebookScopes,
    defaultScopes: basicScopes,
  };
  const server = await authorizationServer({
    issuer: listener.origin,
    resources: [notes],
    accounts: developmentLogin(accounts),
    storage,
    registration,
    clientDocuments,
    clients,
    lifetimes: { accessToken: accessTokenSeconds },
    onEvent: (event) => onEvent({ server: 'authorization', event }),
  });
  listener.serve(server.handler);
  return {
    async close() {
      await server.close();
      await storage.close();
    },
  };
}

interface NotebookParts extends Told {
  readonly issuer: string;
  readonly resource: string;
  readonly kept: KeptCertificates;
}

function serveNotebook(
  listener: TlsListener,
  { issuer, resource, kept, onEvent }: NotebookParts,
): { close(): Promise<void> } {
  const trusting = trustingFetch(kept.certificates.ca);
  const guard = protectedServer({
    resource,
    name: 'Notes',
    authorizationServers: [issuer],
    tokens: jwt({ clockToleranceSeconds: 0 }),
    fetch: trusting.fetch,
    scopes: { required: basicScopes },
    operations: { tools: toolScopes },
    rateLimit: { failedTokens: manyFailures },
    onEvent: (event) => onEvent({ server: 'protected', event }),
  });
  const handler = notebook();
  listener.serve(
    fetchListener(guard, (request, { authInfo, body }) =>
      handler.fetch(request, { authInfo, parsedBody: body }),
    ),
  );
  return trusting;
}
