/**
 * The one fetch of the daemon: undici's own, with its own agent. Both are loaded by the first request: they take
 * 20 MB, and a broker that answers from memory sends none.
 *
 * Invariant: each request goes only as far as addresses.ts lets it, and a connection is used again only by requests of
 * the same reach. What a connection trusts is in https-agent.ts.
 */
import type { Dispatcher } from 'undici';
import { reachOf, type Reach, type Trust } from '../../base/addresses.ts';
import type { AgentOptions } from '../../base/system/https-agent.ts';
import type { Fetch } from '../../oauth/base/http.ts';
import type { ExtraAuthorities } from './authorities.ts';

export interface FetchOptions extends Omit<AgentOptions, 'authorities' | 'reach'> {
  readonly authorities?: ExtraAuthorities | undefined;
  readonly proxyFor?: ProxyFor | undefined;
}

/**
 * The proxy that the system's settings name for a URL, as a URL; undefined for a direct connection.
 * Rejects where there is one that can't be used: going past it is not ours to decide.
 */
export type ProxyFor = (url: string) => Promise<string | undefined>;

export interface DaemonFetch {
  /**
   * The fetch for what starts at an MCP server, whose endpoint the user typed. `isConfirmed` says
   * which hosts the user confirmed as private; none unless given.
   */
  fetchFor(endpoint: string, isConfirmed?: Trust['isConfirmed']): Fetch;
  /** How such a fetch would connect to the endpoint itself, for another process. Throws as the fetch does. */
  agentFor(endpoint: string, isConfirmed?: Trust['isConfirmed']): Promise<AgentOptions>;
  close(): Promise<void>;
}

/** `inForce` is asked before each request, and what it throws keeps the request here. */
export function daemonFetch(inForce: () => Promise<FetchOptions>): DaemonFetch {
  const agents = new Map<string, Dispatcher>();
  // Made by the first request: start-up need not wait for the certificate authorities.
  const agent = async (reach: Reach, url: string): Promise<Dispatcher> => {
    const { hash, ...options } = await agentOptions(await inForce(), reach, url);
    const name = JSON.stringify([reach, options.httpsProxy, options.noProxy, hash]);
    const { makeAgent } = await import('../../base/system/https-agent.ts');
    const known = agents.get(name) ?? makeAgent(options);
    agents.set(name, known);
    return known;
  };
  return {
    fetchFor(endpoint, isConfirmed = () => false) {
      return async (url, init) => {
        const reach = reachOf(url, { endpoint, isConfirmed });
        const dispatcher = await agent(reach, url);
        const { fetch } = await import('undici');
        return fetch(url, { ...init, dispatcher });
      };
    },
    async agentFor(endpoint, isConfirmed = () => false) {
      const reach = reachOf(endpoint, { endpoint, isConfirmed });
      const { hash: _, ...options } = await agentOptions(await inForce(), reach, endpoint);
      return options;
    },
    async close() {
      await Promise.all([...agents.values()].map((each) => each.close()));
    },
  };
}

/** `hash`: names the CA file. */
async function agentOptions(
  { authorities, proxyFor, httpsProxy, ...rest }: FetchOptions,
  reach: Reach,
  url: string,
): Promise<AgentOptions & { readonly hash: string | undefined }> {
  const proxy = reach === 'thisMachine' ? undefined : (httpsProxy ?? (await proxyFor?.(url)));
  return { ...rest, reach, httpsProxy: proxy, authorities: authorities?.pem, hash: authorities?.hash };
}
