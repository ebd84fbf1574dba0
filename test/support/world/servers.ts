/**
 * The servers of a test's world: one authorization server and one MCP server that trusts it.
 *
 * Invariant: everything listens on 127.0.0.1, over TLS, with an authority made for this world alone;
 * after `close` nothing of it is left.
 */
import { introspection, jwt } from '../../../src/server/index.ts';
import type { TokenKind } from '../../../src/server/index.ts';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from './authorization-server.ts';
import { type Certificates, throwAwayCertificates } from '../../../src/serve/certificate.ts';
import { notebookScopes } from './notebook.ts';
import {
  basicScopes,
  type ProtectedServer,
  type ProtectedService,
  type RequestCounts,
  startProtectedServer,
} from './protected-server.ts';
import type { IntrospectionAccess } from './provider-configuration.ts';
import type { Counts } from './provider-counts.ts';
import { trustingFetch } from '../../../src/serve/trusting-fetch.ts';

export interface WorldOptions extends Pick<
  AuthorizationServerOptions,
  | 'accessTokenLifetime'
  | 'accessTokenFormat'
  | 'refreshTokens'
  | 'sharesGrants'
  | 'refreshGrace'
  | 'wantsNonces'
> {
  /** 0, the default, takes any free port. */
  readonly authorizationServerPort?: number;
  readonly protectedServerPort?: number;
  /** What is protected; notebooks unless told otherwise. */
  readonly service?: ProtectedService;
  /** The MCP server takes only tokens that are bound to a key, and wants nonces as the provider does. */
  readonly takesBoundTokens?: boolean;
  /** Shared with another world; its own unless given. */
  readonly certificates?: Certificates;
}

export interface World {
  /** PEM text of the authority; a client has to trust it, by NODE_EXTRA_CA_CERTS for one. */
  readonly ca: string;
  readonly authorizationServer: AuthorizationServer;
  readonly protectedServer: ProtectedServer;
  /** Trusts this world's authority only. */
  readonly fetch: typeof globalThis.fetch;
  /** A copy of all numbers as they are now. */
  counts(): { authorizationServer: Counts; protectedServer: RequestCounts };
  close(): Promise<void>;
}

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const {
    authorizationServerPort = 0,
    protectedServerPort = 0,
    service,
    takesBoundTokens = false,
    certificates = await throwAwayCertificates(),
    ...issuing
  } = options;
  const trusting = trustingFetch(certificates.ca);
  const authorizationServer = await startAuthorizationServer({
    wantsNonces: takesBoundTokens,
    ...issuing,
    certificates,
    port: authorizationServerPort,
    scopes: notebookScopes,
  });
  // A lifetime is exact, and a revocation counts at once.
  const tokens =
    options.accessTokenFormat === 'jwt'
      ? jwt({ clockToleranceSeconds: 0 })
      : introspectionAt(authorizationServer.introspection, 0);
  const protectedServer = await startProtectedServer({
    certificates,
    issuer: authorizationServer.issuer,
    tokens,
    fetch: trusting.fetch,
    port: protectedServerPort,
    ...(service ? { service } : {}),
    ...(takesBoundTokens ? { dpop: { required: true, nonceSeconds: 60 } } : {}),
  }).catch(async (error: unknown) => {
    await authorizationServer.close();
    throw error;
  });
  authorizationServer.addResource({
    resource: protectedServer.resource,
    scopes: notebookScopes,
    defaultScopes: basicScopes,
  });
  return {
    ca: certificates.ca,
    authorizationServer,
    protectedServer,
    fetch: trusting.fetch,
    counts: () => ({
      authorizationServer: { ...authorizationServer.counts },
      protectedServer: { ...protectedServer.counts },
    }),
    async close() {
      await trusting.close();
      await Promise.all([authorizationServer.close(), protectedServer.close()]);
    },
  };
}

/** The check of opaque tokens, each time or once in `cacheSeconds`. */
export function introspectionAt(access: IntrospectionAccess, cacheSeconds: number): TokenKind {
  return introspection({
    client: { id: access.clientId, secret: access.clientSecret },
    endpoint: access.endpoint,
    cacheSeconds,
    negativeCacheSeconds: 0,
  });
}
