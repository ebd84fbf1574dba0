/**
 * One agent for all servers, through a proxy or without it.
 *
 * Invariant: `NoProxy` alone decides which.
 */
import { Agent, Dispatcher, ProxyAgent } from 'undici';
import { NoProxy } from './proxy-variables.ts';

interface Proxied {
  /** As `proxyUrl` returns it. */
  readonly proxy: string | undefined;
  readonly noProxy: string | undefined;
}

/** An agent for all servers. `options` are for direct connections and for those to the proxy. */
export function agentBy(
  { proxy, noProxy }: Proxied,
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
