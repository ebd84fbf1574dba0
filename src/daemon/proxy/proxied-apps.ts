/**
 * The apps that proxies are: each address is one app, regardless of the program that uses it.
 *
 * Invariants: such an app is made without a question, since it may do nothing: its first request for a token asks the
 * user. Only the process of the proxies gets its key.
 */
import type { BrokerParts } from '../../broker/parts.ts';
import type { App } from '../../broker/records/app.ts';
import type { Proxies, ProxyRecord } from '../../broker/records/proxy.ts';
import { KeyturnError } from '../../base/errors.ts';
import { mutex } from '../../base/mutex.ts';
import type { ParamsOf } from '../../ipc/protocol/methods.ts';
import type { Admission } from '../../proxy/messages.ts';
import type { DaemonFetch } from '../system/fetch.ts';
import type { AppKeys } from '../vault/app-keys.ts';

export interface ProxiedAppsParts {
  readonly proxies: Proxies;
  readonly keys: Pick<AppKeys, 'identityOf'>;
  readonly net: Pick<DaemonFetch, 'agentFor'>;
  readonly parts: Pick<
    BrokerParts,
    'apps' | 'clock' | 'temporaryPermissions' | 'exceptions' | 'pause' | 'permissions'
  >;
  /** Before records or keys are used. Throws what the vault throws. */
  readonly verify: () => Promise<void>;
  /** The broker's socket. */
  readonly socket: () => string;
  /** An app was made. */
  readonly changed: () => void;
  /** Unpairs an app, with what it has open. */
  readonly removeApp: (appId: string) => Promise<void>;
}

export class ProxiedApps {
  readonly #parts: ProxiedAppsParts;
  readonly #exclusive = mutex();
  /** Those that came in this run, by app; with the proxy of each. */
  readonly #came = new Map<string, string>();
  /** By app, the last use that a cut ended. */
  readonly #ended = new Map<string, number | undefined>();
  /** By app, the proxy and authorities of its connections when it came, as JSON. */
  readonly #routes = new Map<string, string>();

  constructor(parts: ProxiedAppsParts) {
    this.#parts = parts;
  }

  /** Throws `not_found`, `conflict`, `insecure_url`, and what the vault throws. */
  async admit(proxyId: string): Promise<Admission> {
    const { proxies, keys, verify, socket } = this.#parts;
    await verify();
    const proxy = proxies.byId(proxyId);
    if (!proxy) throw gone();
    const app = await this.appOf(proxy);
    this.#came.set(app.id, proxy.id);
    const agent = await this.#routeOf(proxy);
    this.#routes.set(app.id, JSON.stringify(agent));
    return { identity: await keys.identityOf(app), socket: socket(), resource: proxy.endpoint, agent };
  }

  /** Made with its proxy, and again where it was unpaired. Throws `conflict` if another app has its name by now. */
  async appOf(proxy: ProxyRecord): Promise<App> {
    const { parts, proxies, changed } = this.#parts;
    return this.#exclusive(async () => {
      // It may have been removed while this request waited for its turn.
      if (!proxies.byId(proxy.id)) throw gone();
      const known = parts.apps.ofProxy(proxy.id);
      if (known) return known;
      const added = await parts.apps.addProxied(proxy, parts.clock.wall());
      changed();
      return added;
    });
  }

  /**
   * Unpairs the app of a proxy, and then takes the proxy away by `remove`. Nobody is admitted meanwhile: an app that
   * came in between would be left without a proxy.
   */
  async endWith(proxyId: string, remove: () => Promise<void>): Promise<void> {
    await this.#exclusive(async () => {
      const { parts, removeApp } = this.#parts;
      const app = parts.apps.ofProxy(proxyId);
      if (app) await removeApp(app.id);
      await remove();
    });
  }

  /**
   * Apps that lost their permission since this was last asked; during a pause of all access, all of them. An app that
   * only waits for an answer is not among them: its request would ask the user twice.
   */
  withoutPermission(): string[] {
    const { apps, temporaryPermissions, pause } = this.#parts.parts;
    const isPaused = pause.current !== undefined;
    const lost = [...this.#came]
      // One that was allowed once goes on with what it got, until the user decides otherwise.
      .filter(
        ([id, proxy]) => isPaused || (!this.#isAllowed(id, proxy) && !temporaryPermissions.hasUsedOnce(id)),
      )
      .map(([id]) => id)
      .filter((id) => apps.lastUseOf(id) !== this.#ended.get(id));
    for (const id of lost) this.#ended.set(id, apps.lastUseOf(id));
    return lost;
  }

  /** Apps that would connect in another way by now: a setting or an exception changed since they came. */
  async rerouted(): Promise<string[]> {
    const others: string[] = [];
    for (const [id, proxyId] of this.#came) {
      const proxy = this.#parts.proxies.byId(proxyId);
      const route = this.#routes.get(id);
      if (!proxy || route === undefined || JSON.stringify(await this.#routeOf(proxy)) === route) continue;
      this.#routes.delete(id);
      others.push(id);
    }
    return others;
  }

  async #routeOf({ endpoint }: ProxyRecord): Promise<Admission['agent']> {
    const { net, parts } = this.#parts;
    return net.agentFor(endpoint, (url) => parts.exceptions.isPrivate(url));
  }

  /** The app of a proxy has one server to ask for: a token there, or its API key. */
  #isAllowed(appId: string, proxyId: string): boolean {
    const { permissions, temporaryPermissions, clock } = this.#parts.parts;
    if (!this.#parts.proxies.byId(proxyId)) return false;
    const now = clock.wall();
    const isKept = permissions.of(appId, now).some(({ decision }) => decision === 'allow');
    return isKept || temporaryPermissions.of(appId, now).length > 0;
  }
}

/** The name of a new proxy, which is that of its app too. Throws `conflict` for a name or a port that is taken. */
export function newProxyName(
  { apps, clock }: Pick<BrokerParts, 'apps' | 'clock'>,
  proxies: Pick<Proxies, 'refuseTaken' | 'nameFor'>,
  { endpoint, name, port }: { readonly endpoint: string } & Pick<ParamsOf<'proxy.add'>, 'name' | 'port'>,
): string {
  proxies.refuseTaken({ name, port });
  const now = clock.wall();
  if (name !== undefined) apps.refuseTaken(name, now);
  return name ?? proxies.nameFor(endpoint, (free) => apps.isFree(free, now));
}

function gone(): KeyturnError {
  return new KeyturnError('not_found', 'This proxy is no longer there.', {
    hint: '`keyturn proxy list` shows the proxies there are.',
  });
}
