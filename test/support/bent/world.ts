/**
 * One bent authorization server and one MCP server, with one authority in one file. `close` leaves nothing, and throws
 * if a route did.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { trustingFetch } from '../../../src/serve/trusting-fetch.ts';
import { type BentAuthorizationServerOptions, openBentAuthorizationServer } from './authorization-server.ts';
import { type BentProtectedServerOptions, openBentProtectedServer } from './protected-server.ts';
import { type BentServerOptions, openBentServer, sharedCertificates } from './server.ts';
import { browserHere } from '../browsers/browser-here.ts';

export interface BentWorldOptions {
  readonly authorization?: BentAuthorizationServerOptions;
  readonly protection?: Omit<BentProtectedServerOptions, 'authorizationServers'>;
  /** Both on one origin, as the earlier revision has them by default. */
  readonly oneOrigin?: boolean;
  /** Everything over http. */
  readonly plain?: boolean;
  /** What is done with the address that a broker opens, in place of following its redirects. `ca`: the authority to trust. */
  readonly visit?: (url: string, ca: string) => Promise<unknown>;
}

export async function openBentWorld(options: BentWorldOptions = {}) {
  const { ca } = await sharedCertificates();
  const folder = await mkdtemp(path.join(tmpdir(), 'keyturn-bent-'));
  const caFile = path.join(folder, 'ca.pem');
  await writeFile(caFile, ca);
  const trusting = trustingFetch(ca);
  const follow = async (url: string): Promise<void> => {
    const response = await trusting.fetch(url, { headers: { accept: 'text/html' } });
    await response.body?.cancel();
  };
  const { visit = follow } = options;
  const browser = browserHere(path.join(folder, 'tabs'), (url) => visit(url, ca));
  const opened: { close(): Promise<void> }[] = [];
  const kept = <T extends { close(): Promise<void> }>(one: T): T => {
    opened.push(one);
    return one;
  };
  const plain = options.plain ? { plain: true } : {};
  const authorizationServer = kept(await openBentAuthorizationServer({ ...plain, ...options.authorization }));
  const protectedServer = kept(
    await openBentProtectedServer({
      ...plain,
      ...(options.oneOrigin ? { server: authorizationServer.server } : {}),
      ...options.protection,
      authorizationServers: [authorizationServer],
    }),
  );
  return {
    /** PEM text, and the same as a file for NODE_EXTRA_CA_CERTS. */
    ca,
    caFile,
    authorizationServer,
    protectedServer,
    /** Trusts this world's authority only. Follows redirects as the platform's does. */
    fetch: trusting.fetch,
    /** What a process needs to live in this world: NODE_EXTRA_CA_CERTS and a KEYTURN_BROWSER that follows redirects. */
    env: { NODE_EXTRA_CA_CERTS: caFile, KEYTURN_BROWSER: browser.command() },
    /** Another server, e.g. a hostile one; it ends with the world. */
    openServer: async (more: BentServerOptions = {}) => kept(await openBentServer(more)),
    openAuthorizationServer: async (more: BentAuthorizationServerOptions = {}) =>
      kept(await openBentAuthorizationServer(more)),
    openProtectedServer: async (more: BentProtectedServerOptions = {}) =>
      kept(await openBentProtectedServer(more)),
    /** Ends the servers and waits for the browsers that they were opened in. Throws what a route threw. */
    async close() {
      await trusting.close();
      const ends = await Promise.allSettled(opened.map((one) => one.close()));
      // A browser that waited for one of the servers ends now.
      await browser.close();
      await rm(folder, { recursive: true });
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed) throw failed.reason;
    },
  };
}

export type BentWorld = Awaited<ReturnType<typeof openBentWorld>>;
