/**
 * One agent for all servers, through a proxy or without it.
 *
 * Invariant: `NoProxy` alone decides which.
 */
import type { LookupFunction } from 'node:net';
import { Agent, buildConnector, Dispatcher, ProxyAgent } from 'undici';
import { NoProxy } from './proxy-variables.ts';
import { type Authorities, connectTimeout, type Connector } from './tls-trust.ts';

interface ProxySettings {
  /** As `proxyUrl` returns it. */
  readonly proxy: string | undefined;
  readonly noProxy: string | undefined;
}

/** An agent for all servers. `options` are for direct connections and for those to the proxy. */
export function agentBy(
  { proxy, noProxy }: ProxySettings,
  options: Agent.Options,
  throughProxy: Pick<ProxyAgent.Options, 'requestTls' | 'proxyTls'> = {},
): Dispatcher {
  const direct = new Agent(options);
  if (proxy === undefined) return direct;
  return new SplitAgent(
    direct,
    new ProxyAgent({ ...options, ...throughProxy, uri: proxy }),
    new NoProxy(noProxy),
  );
}

/** `lookup` finds addresses; the system does unless given. */
export function undiciConnector(trusted: Authorities, lookup?: LookupFunction): buildConnector.connector {
  const options = { timeout: connectTimeout, ...(lookup ? { lookup } : {}) };
  // undici's type has the two outcomes as two forms of the callback.
  const connectBy = (tls: object) => buildConnector({ ...tls, ...options }) as UndiciConnector;
  return trusted.connector(connectBy) as buildConnector.connector;
}

type UndiciConnector = Connector<buildConnector.Options, Parameters<buildConnector.Callback>[1]>;

class SplitAgent extends Dispatcher {
  readonly #direct: Dispatcher;
  readonly #proxied: Dispatcher;
  readonly #without: NoProxy;

  constructor(direct: Dispatcher, proxied: Dispatcher, without: NoProxy) {
    super();
    this.#direct = direct;
    this.#proxied = proxied;
    this.#without = without;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const isDirect = this.#without.isDirect(new URL(String(options.origin)));
    return (isDirect ? this.#direct : this.#proxied).dispatch(options, handler);
  }

  override async close(): Promise<void> {
    await Promise.all([this.#direct.close(), this.#proxied.close()]);
  }

  override async destroy(): Promise<void> {
    await Promise.all([this.#direct.destroy(), this.#proxied.destroy()]);
  }
}
