/**
 * The one fetch of the daemon: undici's own, with its own agent.
 *
 * Invariant: TLS trusts the bundled and the system's authorities and the file the user named, nothing
 * less and no switch to turn verification off. Loopback never goes through a proxy. A public server's
 * documents never lead to a private address (addresses.ts).
 */
import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
import { EnvHttpProxyAgent, fetch } from 'undici';
import type { Dispatcher } from 'undici';
import { KeyturnError } from '../errors.ts';
import type { Fetch } from '../oauth/http.ts';
import { globalLookup, hostOf, isPrivateHost, refuseLocalLiteral } from './addresses.ts';

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
   * The fetch for what starts at a protected server: where its endpoint (the URL the user typed) is
   * public, nothing its documents name may lead to a private address.
   */
  fetchFor(endpoint: string): Fetch;
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
  const agent = async (reach: 'anywhere' | 'publicOnly', url: string): Promise<Dispatcher> => {
    const httpsProxy = options.httpsProxy ?? (await options.proxyFor?.(url));
    const name = `${reach} ${httpsProxy ?? ''}`;
    const known = agents.get(name) ?? makeAgent(extra, { ...options, httpsProxy }, reach === 'publicOnly');
    agents.set(name, known);
    return known;
  };
  return {
    fetchFor(endpoint) {
      let isPrivate: Promise<boolean> | undefined;
      return async (url, init) => {
        isPrivate ??= isPrivateHost(hostOf(endpoint));
        if (await isPrivate) return fetch(url, { ...init, dispatcher: await agent('anywhere', url) });
        refuseLocalLiteral(url);
        return fetch(url, { ...init, dispatcher: await agent('publicOnly', url) });
      };
    },
    async close() {
      await Promise.all([...agents.values()].map((each) => each.close()));
    },
  };
}

function makeAgent(extra: string[], { httpsProxy, noProxy }: FetchOptions, publicOnly: boolean): Dispatcher {
  const ca = [...getCACertificates('bundled'), ...getCACertificates('system'), ...extra];
  return new EnvHttpProxyAgent({
    // Through a proxy names are the proxy's to resolve, and so to guard.
    connect: { ca, timeout: connectTimeout, ...(publicOnly ? { lookup: globalLookup } : {}) },
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
