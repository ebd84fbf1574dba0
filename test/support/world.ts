/**
 * The servers of a test whose subject is no rule: an authorization server with a sign-in page, and an MCP server of the
 * SDK that trusts it, over TLS with an authority in a file. What changes them acts as an administrator or a bad network
 * would.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { signInAt, type UserAgentOptions } from '../../demo/user-agent.ts';
import { introspection } from '../../src/server/index.ts';
import { trustingFetch } from '../../src/serve/trusting-fetch.ts';
import {
  type BentAuthorizationServerOptions,
  openBentAuthorizationServer,
  type TokenVerdict,
} from './bent/authorization-server.ts';
import { sharedCertificates } from './bent/server.ts';
import { browserHere } from './browsers/browser-here.ts';
import {
  basicScopes,
  notebookScopes,
  type ProtectedService,
  startProtectedServer,
} from './servers/mcp-server.ts';

export interface WorldOptions extends BentAuthorizationServerOptions {
  /** What is protected; notebooks unless told otherwise. */
  readonly service?: ProtectedService;
  /** The MCP server takes only tokens that are bound to a DPoP key, and both want nonces. */
  readonly takesBoundTokens?: boolean;
  /** Seconds between two looks at a token. The default, 0, is for tests that end tokens. */
  readonly cacheSeconds?: number;
}

/** RFC 7662: what the MCP server shows the authorization server to ask about tokens. */
const introspecting = { clientId: 'protected-server', secret: 'only the MCP server has this' };

export async function openWorld(options: WorldOptions = {}) {
  const { service, takesBoundTokens = false, cacheSeconds = 0, ...settings } = options;
  const certificates = await sharedCertificates();
  const folder = await mkdtemp(path.join(tmpdir(), 'keyturn-world-'));
  const caFile = path.join(folder, 'ca.pem');
  await writeFile(caFile, certificates.ca);
  const granted = ['openid', ...notebookScopes];
  const authorizationServer = await openBentAuthorizationServer({
    consent: 'signIn',
    redirectMatching: 'anyLoopbackPort',
    metadataAt: ['oauth', 'oidc'],
    scopesSupported: [...granted, 'offline_access'],
    defaultScope: basicScopes,
    dpop: takesBoundTokens,
    ...settings,
  });
  authorizationServer.bend.grantedScopes = (asked) => asked.filter((scope) => granted.includes(scope));
  authorizationServer.addClient({ ...introspecting, authMethod: 'client_secret_basic' });
  const trusting = trustingFetch(certificates.ca);
  const protectedServer = await startProtectedServer(certificates, {
    authorizationServers: [authorizationServer.issuer],
    // A lifetime is exact, and a revocation counts at once.
    tokens: introspection({
      client: { id: introspecting.clientId, secret: introspecting.secret },
      endpoint: `${authorizationServer.server.base}/introspect`,
      cacheSeconds,
      negativeCacheSeconds: 0,
    }),
    fetch: trusting.fetch,
    service,
    ...(takesBoundTokens ? { dpop: { required: true, nonceSeconds: 60 } } : {}),
  });
  const signIn = (url: string | URL, person: Partial<UserAgentOptions> = {}) =>
    signInAt(url, { account: 'alice', ca: certificates.ca, ...person });
  const browser = browserHere(path.join(folder, 'tabs'), signIn);
  return {
    /** PEM text of the authority, and the same as a file for NODE_EXTRA_CA_CERTS. */
    ca: certificates.ca,
    caFile,
    authorizationServer,
    protectedServer,
    /** Trusts this world's authority only. */
    fetch: trusting.fetch,
    /** A copy of all numbers as they are now. */
    counts: () => ({
      authorizationServer: { ...authorizationServer.counts },
      protectedServer: { ...protectedServer.counts },
    }),
    /** A headless user: follows an authorization URL to the loopback address. */
    signIn,
    /** A user who does that wherever a broker opens a browser; `flags`: those of demo/user-agent.ts, e.g. `--deny`. */
    browser: (flags?: string) => browser.command(flags),
    /** The next `count` token requests get this answer instead of a token; 503 unless told otherwise. */
    failTokenRequests(count: number, verdict: TokenVerdict = { status: 503 }) {
      let left = count;
      authorizationServer.setTokenGate(() => (left-- > 0 ? verdict : 'pass'));
    },
    /** Token requests wait from now on, until `release`. `arrived` resolves when one waits. */
    holdTokenRequests() {
      const arrived = Promise.withResolvers<void>();
      const released = Promise.withResolvers<TokenVerdict>();
      authorizationServer.setTokenGate(async () => {
        arrived.resolve();
        return released.promise;
      });
      return { arrived: arrived.promise, release: () => released.resolve('pass') };
    },
    /** Ends all access tokens that were issued, as if they had expired. */
    expireAccessTokens: () => authorizationServer.expireAccessTokens(),
    /** Ends all grants: access tokens and refresh tokens are worth nothing from now on. */
    endGrants: () => authorizationServer.endGrants(),
    async close() {
      await trusting.close();
      await Promise.all([authorizationServer.close(), protectedServer.close()]);
      await browser.close();
      await rm(folder, { recursive: true });
    },
  };
}

export type TestWorld = Awaited<ReturnType<typeof openWorld>>;
