/**
 * The one fetch of the daemon: undici's own, with its own agent.
 *
 * Invariant: TLS trusts the bundled and the system's authorities and the file the user named, nothing
 * less and no switch to turn verification off. Loopback never goes through a proxy. Each request goes
 * only as far as addresses.ts lets it, and a connection is used again only by requests of the same reach.
 */
import { getCACertificates } from 'node:tls';
import { EnvHttpProxyAgent, fetch } from 'undici';
import type { Dispatcher } from 'undici';
import { lookupFor, reachOf } from '../../base/addresses.ts';
import type { Reach, Trust } from '../../base/addresses.ts';
import type { Fetch } from '../../oauth/base/http.ts';
import type { AuthoritiesFile } from './authorities.ts';

export interface FetchOptions {
  readonly authorities?: AuthoritiesFile | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
  readonly proxyFor?: ProxyFor | undefined;
  /** The environment that the broker was started with doesn't name the system's authorities. */
  readonly ignoresEnvironment?: boolean;
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

/** `inForce` is asked before each request, and what it throws keeps the request here. */
export function daemonFetch(inForce: () => Promise<FetchOptions>): DaemonFetch {
  const agents = new Map<string, Dispatcher>();
  // Reading the system's authorities takes tens of milliseconds; start-up need not wait for it.
  const agent = async (reach: Reach, url: string): Promise<Dispatcher> => {
    const options = await inForce();
    const httpsProxy = reach === 'thisMachine' ? undefined : await proxyOf(options, url);
    const name = JSON.stringify([reach, httpsProxy, options.noProxy, options.authorities?.hash]);
    const known = agents.get(name) ?? makeAgent({ ...options, httpsProxy }, reach);
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

function makeAgent(options: FetchOptions, reach: Reach): Dispatcher {
  const { authorities, httpsProxy, noProxy, ignoresEnvironment = false } = options;
  const extra = authorities ? [authorities.pem] : [];
  const ca = [...getCACertificates('bundled'), ...systemAuthorities(ignoresEnvironment), ...extra];
  // Said in so many words: else NODE_TLS_REJECT_UNAUTHORIZED=0 would turn verification off.
  const tls = { ca, rejectUnauthorized: true };
  return new EnvHttpProxyAgent({
    // Through a proxy names are the proxy's to resolve, and so to guard.
    connect: { ...tls, timeout: connectTimeout, lookup: lookupFor(reach) },
    requestTls: tls,
    proxyTls: tls,
    // '' rather than absent: undici would read the environment by itself.
    httpProxy: '',
    httpsProxy: httpsProxy ?? '',
    noProxy: noProxy === undefined ? loopbackHosts : `${noProxy},${loopbackHosts}`,
  });
}

/** OpenSSL's variables, by which anybody's file passes for the system's authorities. */
const opensslVariables = ['SSL_CERT_FILE', 'SSL_CERT_DIR'] as const;

/** The system's authorities. Node reads them once a process. */
function systemAuthorities(ignoresEnvironment: boolean): string[] {
  if (ignoresEnvironment) for (const name of opensslVariables) Reflect.deleteProperty(process.env, name);
  return getCACertificates('system');
}
