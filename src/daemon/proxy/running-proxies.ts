/**
 * What the user does with proxies: add, list, rotate, remove; and their process, which follows the list.
 *
 * Invariants: the process serves what is in the list and nothing else. A change that fails at any step leaves the
 * proxy as it was; programs that a removal already ended stay ended. Before the list is verified, the process gets only
 * ports and paths: no app gets anything before the list is verified (proxied-apps.ts).
 */
import { createServer } from 'node:net';
import { wholeSeconds } from '../../base/clock.ts';
import { addressOf, type Proxies, type ProxyRecord } from '../../broker/records/proxy.ts';
import type { Broker } from '../../broker/broker.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import { anyPort } from '../../broker/loopback/port-listener.ts';
import { KeyturnError } from '../../base/errors.ts';
import { newProxyName, type ProxiedApps } from './proxied-apps.ts';
import type { ProxyProcess } from './proxy-process.ts';

export interface RunningProxiesParts {
  readonly broker: Broker;
  readonly proxies: Proxies;
  readonly apps: Pick<ProxiedApps, 'appOf' | 'endWith' | 'rerouted' | 'withoutPermission'>;
  readonly process: ProxyProcess;
}

export type ProxyAnswer = ResultOf<'proxy.list'>['proxies'][number];

export class RunningProxies {
  readonly #parts: RunningProxiesParts;

  constructor(parts: RunningProxiesParts) {
    this.#parts = parts;
  }

  /** The list as it is now: at the start, and after each change. */
  follow(): void {
    const { proxies, process } = this.#parts;
    process.serve(proxies.shown());
  }

  /** Something was narrowed or widened: who lost a permission loses what it has open. */
  recheck(): void {
    const { apps, process } = this.#parts;
    for (const appId of apps.withoutPermission()) process.cut(appId);
  }

  /** Something changed: who would connect in another way now is asked about it again. Never fails. */
  async reroute(): Promise<void> {
    const { apps, process } = this.#parts;
    // Without an answer now, the next change asks again.
    const others = await apps.rerouted().catch(() => []);
    for (const appId of others) process.forget(appId);
  }

  /** For `status`, which asks no vault. */
  standing(): ResultOf<'status'>['proxies'] {
    return this.#parts.proxies.shown().map((proxy) => this.#standingOf(proxy));
  }

  list(): ProxyAnswer[] {
    return this.#parts.proxies.all().map((proxy) => this.#answer(proxy));
  }

  /** Throws `invalid_resource`, `insecure_url`, `conflict`, `rate_limited`. */
  async add({ resource, name, port }: ParamsOf<'proxy.add'>): Promise<ProxyAnswer> {
    const { broker, proxies, apps } = this.#parts;
    const endpoint = broker.exact(resource);
    const called = newProxyName(broker.parts, proxies, { endpoint, name, port });
    const free = await freePort(port, (other) => proxies.all().some((proxy) => proxy.port === other));
    const added = await proxies.add({
      name: called,
      endpoint,
      port: free,
      createdAt: broker.parts.clock.wall(),
    });
    try {
      await apps.appOf(added);
    } catch (error) {
      await proxies.remove(added.id);
      throw error;
    }
    await this.#record(added, 'added');
    return this.#opened(added);
  }

  /** Throws `not_found`, `conflict`. */
  async rotate(named: string): Promise<ProxyAnswer> {
    const { proxies } = this.#parts;
    const rotated = await proxies.rotate(this.#find(named).id);
    await this.#record(rotated, 'rotated');
    return this.#opened(rotated);
  }

  /** Its app ends first. Throws `not_found`, `conflict`. */
  async remove(named: string): Promise<void> {
    const { proxies, apps, process } = this.#parts;
    const proxy = this.#find(named);
    // Its port closes before anything else: nobody comes back by it while its app is ended.
    process.serve(proxies.shown().filter(({ id }) => id !== proxy.id));
    try {
      await apps.endWith(proxy.id, () => proxies.remove(proxy.id));
      await this.#record(proxy, 'removed');
    } finally {
      this.follow();
    }
  }

  #find(named: string): ProxyRecord {
    const { broker, proxies } = this.#parts;
    return proxies.resolve(URL.canParse(named) ? broker.exact(named) : named);
  }

  async #record({ name, endpoint }: ProxyRecord, outcome: string): Promise<void> {
    const { audit } = this.#parts.broker.parts;
    await audit.record({ event: 'proxy', outcome: `${outcome}: ${name}`, endpoint });
  }

  async #opened(proxy: ProxyRecord): Promise<ProxyAnswer> {
    this.follow();
    await this.#parts.process.settled(proxy.id);
    return this.#answer(proxy);
  }

  #answer(proxy: ProxyRecord): ProxyAnswer {
    return { ...this.#standingOf(proxy), url: addressOf(proxy) };
  }

  #standingOf({ id, name, endpoint, port }: ProxyRecord): ResultOf<'status'>['proxies'][number] {
    const { broker, process } = this.#parts;
    const lastUsedAt = broker.parts.apps.shownOfProxy(id)?.lastUsedAt;
    return {
      id,
      name,
      resource: endpoint,
      port,
      state: process.stateOf(id),
      ...(lastUsedAt === undefined ? {} : { lastUsedAt: wholeSeconds(lastUsedAt) }),
    };
  }
}

/** Tries to find a port that is free. */
const portTries = 16;

/** `wanted`: the one that the user named. Throws `conflict` if it is taken. */
async function freePort(wanted: number | undefined, isOurs: (port: number) => boolean): Promise<number> {
  if (wanted !== undefined) {
    if (await isFree(wanted)) return wanted;
    throw new KeyturnError('conflict', `Port ${wanted} on this machine is taken by another program.`, {
      hint: 'Choose another, or leave out --port.',
    });
  }
  for (let left = portTries; left > 0; left -= 1) {
    const port = anyPort();
    if (!isOurs(port) && (await isFree(port))) return port;
  }
  throw new KeyturnError('conflict', 'No free port was found on this machine.', {
    hint: 'Name one that you know to be free: keyturn proxy add URL --port NUMBER',
  });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const isOpen = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => resolve(true));
  });
  if (isOpen) await new Promise((resolve) => server.close(resolve));
  return isOpen;
}
