/**
 * The programs that come by a proxy: each pair of proxy and executable is a local client of its own.
 *
 * Invariants: such a client is made without a question, since it may do nothing: its first request for a token asks the
 * person. Only the process of the proxies gets its key. An executable counts only where the kernel says that the
 * process runs the file at this path; all other programs of a proxy are one client, "any program".
 */
import path from 'node:path';
import type { BrokerParts } from '../../broker/parts.ts';
import type { LocalClient } from '../../broker/records/local-client.ts';
import type { Proxies, ProxyRecord } from '../../broker/records/proxy.ts';
import { KeyturnError } from '../../base/errors.ts';
import { mutex } from '../../base/mutex.ts';
import { peerOfProcess } from '../../ipc/peer/peer.ts';
import { imageOf, programOf } from '../../ipc/peer/program.ts';
import type { Admission, ProcessNamed } from '../../proxy/messages.ts';
import type { DaemonFetch } from '../system/fetch.ts';
import type { Keys } from '../vault/keys.ts';

export interface ProxiedProgramsParts {
  readonly proxies: Proxies;
  readonly keys: Pick<Keys, 'identityOf'>;
  readonly net: Pick<DaemonFetch, 'agentFor'>;
  readonly parts: Pick<BrokerParts, 'clients' | 'clock' | 'leases' | 'overrides' | 'pause' | 'permissions'>;
  /** Before records or keys are used. Throws what the vault throws. */
  readonly verify: () => Promise<void>;
  /** The broker's socket. */
  readonly socket: () => string;
  /** A program came for the first time. */
  readonly changed: () => void;
  /** Unpairs a program, with what it has open. */
  readonly removeClient: (clientId: string) => Promise<void>;
}

/** Each is a card at most; more than a person has is somebody's flood. */
const maxPrograms = 32;

/** Characters of an executable's name in the name of a client. */
const maxNameLength = 24;

export class ProxiedPrograms {
  readonly #parts: ProxiedProgramsParts;
  readonly #exclusive = mutex();
  /** Those that came in this run, by client; with the proxy of each. */
  readonly #came = new Map<string, string>();
  /** By client, the last use that a cut ended. */
  readonly #ended = new Map<string, number | undefined>();
  /** By client, the proxy and authorities of its connections when it came, as JSON. */
  readonly #routes = new Map<string, string>();

  constructor(parts: ProxiedProgramsParts) {
    this.#parts = parts;
  }

  /** Throws `not_found`, `rate_limited`, `insecure_url`, and what the vault throws. */
  async admit(proxyId: string, process: ProcessNamed | undefined): Promise<Admission> {
    const { proxies, keys, verify, socket } = this.#parts;
    await verify();
    const proxy = proxies.byId(proxyId);
    if (!proxy) throw gone();
    const client = await this.#exclusive(() => this.#clientFor(proxy, executableOf(process)));
    this.#came.set(client.id, proxy.id);
    const agent = await this.#routeOf(proxy);
    this.#routes.set(client.id, JSON.stringify(agent));
    return { identity: await keys.identityOf(client), socket: socket(), resource: proxy.endpoint, agent };
  }

  /**
   * Unpairs the programs of a proxy, and then takes the proxy away by `remove`. Nobody is admitted meanwhile: a
   * program that came in between would be left without a proxy.
   */
  async endWith(proxyId: string, remove: () => Promise<void>): Promise<void> {
    await this.#exclusive(async () => {
      const { parts, removeClient } = this.#parts;
      for (const { id } of parts.clients.ofProxy(proxyId)) await removeClient(id);
      await remove();
    });
  }

  /**
   * Programs that lost their permission since this was last asked; during a pause of all access, all of them. A program
   * that only waits for an answer is not among them: its request would ask the person twice.
   */
  withoutPermission(): string[] {
    const { clients, leases, pause } = this.#parts.parts;
    const isPaused = pause.current !== undefined;
    const lost = [...this.#came]
      // One that was allowed once goes on with what it got, until the user decides otherwise.
      .filter(([id, proxy]) => isPaused || (!this.#isAllowed(id, proxy) && !leases.hasUsedUp(id)))
      .map(([id]) => id)
      .filter((id) => clients.lastUseOf(id) !== this.#ended.get(id));
    for (const id of lost) this.#ended.set(id, clients.lastUseOf(id));
    return lost;
  }

  /** Programs that would connect in another way by now: a setting or an override changed since they came. */
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
    return net.agentFor(endpoint, (url) => parts.overrides.isPrivate(url));
  }

  async #clientFor(proxy: ProxyRecord, executable: string | undefined): Promise<LocalClient> {
    const { clients, clock } = this.#parts.parts;
    // It may have been removed while this request waited for its turn.
    if (!this.#parts.proxies.byId(proxy.id)) throw gone();
    const known = clients.ofProxy(proxy.id).find((client) => client.executable === executable);
    if (known) return known;
    await this.#makeRoom(proxy);
    const called = executable === undefined ? 'any program' : fileName(executable);
    const added = await clients.addToProxy(proxy.id, {
      name: `${proxy.name}: ${called}`,
      now: clock.wall(),
      ...(executable === undefined ? {} : { executable }),
    });
    this.#parts.changed();
    return added;
  }

  /** A program that nobody decided about gives its place to the next one. */
  async #makeRoom(proxy: ProxyRecord): Promise<void> {
    const { clients, permissions, leases, clock } = this.#parts.parts;
    const all = clients.ofProxy(proxy.id);
    if (all.length < maxPrograms) return;
    const now = clock.wall();
    const isUndecided = (id: string): boolean =>
      permissions.of(id, now).length === 0 && leases.of(id, now).length === 0 && !leases.hasUsedUp(id);
    const undecided = all.find(({ id }) => isUndecided(id));
    if (undecided) return this.#parts.removeClient(undecided.id);
    throw new KeyturnError('rate_limited', `${all.length} programs came by the proxy ${proxy.name}.`, {
      case: 'full',
      rule: `A proxy serves ${maxPrograms} programs at most`,
      hint: 'See `keyturn clients`, and end some: keyturn unpair CLIENT',
    });
  }

  /** A program of a proxy has one server to ask for: a token there, or its API key. */
  #isAllowed(clientId: string, proxyId: string): boolean {
    const { permissions, leases, clock } = this.#parts.parts;
    if (!this.#parts.proxies.byId(proxyId)) return false;
    const now = clock.wall();
    const isKept = permissions.of(clientId, now).some(({ decision }) => decision === 'allow');
    return isKept || leases.of(clientId, now).length > 0;
  }
}

/** Undefined where the kernel doesn't say, or where the process runs another file than the one at its path. */
function executableOf(process: ProcessNamed | undefined): string | undefined {
  if (!process) return undefined;
  const peer = peerOfProcess(process);
  const { file, executable } = programOf(peer);
  const isKnown = file === 'attested' || file === 'interpreter';
  return isKnown && imageOf(peer) === process.image ? executable : undefined;
}

/** As it can stand in the name of a client. */
function fileName(executable: string): string {
  const plain = path.posix.basename(executable).replace(/[^A-Za-z0-9._+-]/g, '_');
  return plain.length > maxNameLength ? plain.slice(0, maxNameLength) : plain;
}

function gone(): KeyturnError {
  return new KeyturnError('not_found', 'This proxy is no longer there.', {
    hint: '`keyturn proxy list` shows the proxies there are.',
  });
}
