/**
 * Everything that runs in a broker of one home, built in order and started by nobody yet.
 *
 * Invariants: nothing here opens the vault. Its first use verifies the home before anything else, and then the document.
 */
import type { AuthorityDocument } from '../store/document.ts';
import { Broker } from '../broker/broker.ts';
import type { BrokerParts } from '../broker/parts.ts';
import { Loopback } from '../broker/loopback/loopback.ts';
import { Proxies } from '../broker/records/proxy.ts';
import { RevocationQueue } from '../broker/revocation/revocation-queue.ts';
import { TokenCache } from '../broker/tokens/token-cache.ts';
import { Upkeep } from '../broker/tokens/upkeep.ts';
import { inOrder } from '../vault/guard.ts';
import type { VaultListener } from '../vault/guard.ts';
import { assemble, openRecords } from './assembly.ts';
import type { Records } from '../broker/records/records.ts';
import { openGates } from './gates.ts';
import type { Gates } from './gates.ts';
import type { OpenedHome } from './opened-home.ts';
import type { DaemonOptions } from './options.ts';
import type { HomeCheck } from './home/home-check.ts';
import { KeptPause } from './home/kept-pause.ts';
import { BrowserDisplay } from './system/display.ts';
import type { DaemonFetch } from './system/fetch.ts';
import { machineClock } from './system/machine-clock.ts';
import { Keys } from './vault/keys.ts';
import { openSecrets } from './vault/secrets.ts';
import type { Secrets } from './vault/secrets.ts';
import { VaultLock } from './vault/vault-lock.ts';
import type { notifications } from '../ipc/protocol/methods.ts';
import type { Caller } from '../ipc/server/server.ts';

/** The process has one clock, which notes from its start on what time does. */
export const clock = machineClock();

export interface Runtime {
  readonly options: DaemonOptions;
  readonly opened: OpenedHome;
  readonly secrets: Secrets;
  readonly records: Records;
  readonly homeCheck: HomeCheck;
  readonly pause: KeptPause;
  readonly net: DaemonFetch;
  readonly broker: Broker;
  readonly vaultLock: VaultLock;
  /** The keys by which programs prove who they are. */
  readonly keys: Keys;
  readonly proxies: Proxies;
  /** Connections that get a notice when a list changes. */
  readonly subscribers: Subscribers;
  /** Where the browser opens, unless the host has a window. */
  readonly display: BrowserDisplay;
  /** Works in the background. */
  readonly revocations: RevocationQueue;
  readonly upkeep: Upkeep;
  /** Aborted when the broker stops. */
  readonly stopping: AbortController;
}

/** Throws `file_unreadable`. */
export async function buildRuntime(options: DaemonOptions, opened: OpenedHome): Promise<Runtime> {
  const { env, log, spawnWorker, proxyFor } = options;
  const { home, book } = opened;
  const settings = book.current;
  const isDesk = options.desk === true;
  log.level = settings.logLevel;

  // The vault needs its listener, and the network its broker, only once a request uses them.
  let listener: VaultListener | undefined;
  let parts: BrokerParts | undefined;
  const secrets = await openSecrets({
    home,
    settings,
    env,
    spawnWorker,
    now: clock.wall,
    listener: () => listener,
  });
  const { vault, root } = secrets;
  const records = openRecords({ home, vault, root });
  const subscribers = new Subscribers();
  const statusChanged = (): void => subscribers.tell('status.changed');
  const stopping = new AbortController();
  const { homeCheck, net, gates } = openGates({
    ...opened,
    vault,
    document: records.document,
    records: records.home,
    isDesk,
    proxyFor,
    wall: clock.wall,
    changed: statusChanged,
    log: log.write,
    parts: () => parts,
    over: stopping.signal,
  });
  const built = { options, opened, secrets, records, net, subscribers, display: new BrowserDisplay(env) };
  const assembled = partsOf(built, gates);
  parts = assembled;
  const pause = new KeptPause({ ...assembled, ...records, changed: statusChanged });
  addSteps(records.document, { homeCheck, pause }, assembled);
  await loadDocument(records.document, options);

  const background = backgroundOf(parts);
  listener = inOrder(
    { answered: () => verifySoon(records.document), failed: () => undefined },
    background.revocations,
  );
  const vaultLock = new VaultLock({
    secrets,
    broker: parts,
    settings,
    changed: statusChanged,
    log: log.write,
  });
  book.whenKnown(() => vaultLock.settingsKnown());
  homeCheck.begin();
  const broker = new Broker(parts);
  const keys = new Keys({ home, root, ...parts });
  const proxies = new Proxies(records.proxies);
  return { ...built, proxies, stopping, ...background, homeCheck, pause, broker, vaultLock, keys };
}

/** A document that can't be read stays as it is, and refuses what needs it. */
async function loadDocument(document: AuthorityDocument, { log }: Pick<DaemonOptions, 'log'>): Promise<void> {
  await document
    .load()
    .catch((error: unknown) =>
      log.write(error instanceof Error ? error.message : 'the document failed', 'error'),
    );
}

/** What the first verification does besides, in this order. */
function addSteps(
  document: AuthorityDocument,
  { homeCheck, pause }: Pick<Runtime, 'homeCheck' | 'pause'>,
  { items }: BrokerParts,
): void {
  // First: in a home that may be another vault's, nothing is verified.
  document.beside(async () => homeCheck.refuseMismatch());
  document.afterwards(async () => pause.verified());
  document.afterwards(() => homeCheck.learn());
  // Not awaited: it waits for this verification.
  document.afterwards(async () => void items.tidy());
}

function backgroundOf(parts: BrokerParts): Pick<Runtime, 'revocations' | 'upkeep'> {
  return { revocations: new RevocationQueue(parts), upkeep: new Upkeep(parts) };
}

type BuiltBefore = Pick<
  Runtime,
  'options' | 'opened' | 'secrets' | 'records' | 'net' | 'subscribers' | 'display'
>;

function partsOf(
  { options, opened, secrets, records, net, subscribers, display }: BuiltBefore,
  gates: Gates['gates'],
): BrokerParts {
  return assemble({
    clock,
    settings: opened.book.current,
    vault: secrets.vault,
    net,
    cache: new TokenCache(),
    loopback: new Loopback({ seed: opened.home.homeId }),
    records,
    audit: secrets.trail,
    openBrowser: (url, command) => options.openBrowser(url, command, display.environment()),
    isDesk: options.desk === true,
    ...gates,
    questionsChanged: () => subscribers.tell('request.changed'),
    grantsChanged: () => subscribers.tell('signIn.changed'),
  });
}

/** The vault answered somebody. Each request that needs the document verifies it again, and gets the error. */
function verifySoon(document: AuthorityDocument): void {
  void document
    .verify()
    .then(() => document.settle())
    .catch(() => undefined);
}

/** The owner's connections that get a notice when a list should be read again. It doesn't say what changed. */
class Subscribers {
  readonly #callers = new Set<Caller>();

  /** Until its connection closes. */
  add(caller: Caller): void {
    this.#callers.add(caller);
    caller.onClose(() => this.#callers.delete(caller));
  }

  tell(what: (typeof notifications)[number]): void {
    for (const caller of this.#callers) if (caller.role === 'owner') caller.notify(what, {});
  }
}
