/**
 * The one fetch of the daemon: undici's own, with its own agent.
 *
 * Invariant: TLS trusts the bundled and the system's authorities and the file the user named, nothing
 * less and no switch to turn verification off. Loopback never goes through a proxy. Each request goes
 * only as far as addresses.ts lets it, and a connection is used again only by requests of the same reach.
 */
import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
import { EnvHttpProxyAgent, fetch } from 'undici';
import type { Dispatcher } from 'undici';
import { lookupFor, reachOf } from '../addresses.ts';
import type { Reach, Trust } from '../addresses.ts';
import { KeyturnError } from '../errors.ts';
import type { Fetch } from '../oauth/http.ts';

export interface FetchOptions {
  readonly extraAuthorities?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
  readonly proxyFor?: ProxyFor | undefined;
}

/**
 * The proxy that the system's settings name for a URL, as a URL; undefined for a direct connection.
 * Rejects where there is one that can't be used: going past it is not ours to decide.
 */
export type ProxyFor = (url: string) => Promise<string | undefined>;

export interface DaemonFetch {
  /**
   * The fetch for what starts at a protected server, whose endpoint the person typed. `isConfirmed` says
   * which hosts the person confirmed as private; none unless given.
   */
  fetchFor(endpoint: string, isConfirmed?: Trust['isConfirmed']): Fetch;
  close(): Promise<void>;
}

const loopbackHosts = '127.0.0.1,localhost,[::1],::1';

/** Milliseconds to connect: metadata has 10 s in all. */
const connectTimeout = 10_000;

/** Throws `file_unreadable` when the authorities' file can't be read. The rest waits for the first request. */
export function daemonFetch(options: FetchOptions): DaemonFetch {
  const extra = options.extraAuthorities === undefined ? [] : [readAuthorities(options.extraAuthorities)];
  const agents = new Map<string, Dispatcher>();
  // Reading the system's authorities takes tens of milliseconds; start-up need not wait for it.
  const agent = async (reach: Reach, url: string): Promise<Dispatcher> => {
    const httpsProxy = reach === 'thisMachine' ? undefined : await proxyOf(options, url);
    const name = `${reach} ${httpsProxy ?? ''}`;
    const known = agents.get(name) ?? makeAgent(extra, { ...options, httpsProxy }, reach);
    agents.set(name, known);
    return known;
  };
  return {
    fetchFor(endpoint, isConfirmed = () => false) {
      return async (url, init) => {
        const reach = reachOf(url, { endpoint, isConfirmed });
        return fetch(url, { ...init, dispatcher: await agent(reach, url) });
      };
    },
    async close() {
      await Promise.all([...agents.values()].map((each) => each.close()));
    },
  };
}

async function proxyOf({ httpsProxy, proxyFor }: FetchOptions, url: string): Promise<string | undefined> {
  return httpsProxy ?? (await proxyFor?.(url));
}

function makeAgent(extra: string[], { httpsProxy, noProxy }: FetchOptions, reach: Reach): Dispatcher {
  const ca = [...getCACertificates('bundled'), ...getCACertificates('system'), ...extra];
  return new EnvHttpProxyAgent({
    // Through a proxy names are the proxy's to resolve, and so to guard.
    connect: { ca, timeout: connectTimeout, lookup: lookupFor(reach) },
    requestTls: { ca },
    proxyTls: { ca },
    // '' rather than absent: undici would read the environment by itself.
    httpProxy: '',
    httpsProxy: httpsProxy ?? '',
    noProxy: noProxy === undefined ? loopbackHosts : `${noProxy},${loopbackHosts}`,
  });
}

function readAuthorities(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new KeyturnError('file_unreadable', `The certificate authorities in ${file} can't be read.`, {
      hint: 'NODE_EXTRA_CA_CERTS (or the setting extraAuthorities) must name a readable PEM file.',
    });
  }
}
