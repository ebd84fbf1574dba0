/**
 * The composition root: puts home, vault, broker and socket together, and takes them apart again.
 *
 * Invariants: start-up touches no keychain. Stopping finishes rotations that are under way, so that
 * no refresh token is lost between the server's answer and the vault. What opens browsers, starts
 * the keychain's process and tells the time is the host's to give.
 */
import type { Authority } from '../store/authority.ts';
import { Broker } from '../broker/broker.ts';
import { repeatEvery } from '../base/repeat.ts';
import type { BrokerParts } from '../broker/parts.ts';
import { Loopback } from '../broker/loopback/loopback.ts';
import { TokenCache } from '../broker/tokens/token-cache.ts';
import { IndexSweep } from '../broker/tokens/index-sweep.ts';
import { lookPeriod, RevocationQueue } from '../broker/revocation/revocation-queue.ts';
import { Upkeep } from '../broker/tokens/upkeep.ts';
import { KeyturnError } from '../base/errors.ts';
import { prepareSocket } from '../ipc/wire/endpoint.ts';
import { startServer } from '../ipc/server/server.ts';
import type { BrokerServer, ServerDeps, ServerEvent } from '../ipc/server/server.ts';
import { deskCapability, versionCapability } from '../ipc/wire/capabilities.ts';
import { after } from '../ipc/wire/timer.ts';
import type { HomePaths } from '../base/paths.ts';
import { syncFolder } from '../base/private-file.ts';
import { inOrder } from '../vault/guard.ts';
import type { VaultListener } from '../vault/guard.ts';
import type { SpawnWorker } from '../vault/keychain/keychain-process.ts';
import { assemble, openRecords } from './assembly.ts';
import { Approvals } from './methods/approvals.ts';
import { ClientProcesses } from './clients/client-processes.ts';
import type { Records } from './assembly.ts';
import { inProcessOwner } from './in-process-owner.ts';
import type { InProcessOwner } from './in-process-owner.ts';
import { Shutdown } from './shutdown.ts';
import type { DaemonFetch, ProxyFor } from './system/fetch.ts';
import { checkFiles, openHome, prepareFolders } from './home/home.ts';
import type { Home } from './home/home.ts';
import { machineClock } from './system/machine-clock.ts';
import { fault } from './system/fault.ts';
import { openGates } from './gates.ts';
import type { Gates } from './gates.ts';
import type { HomeCheck } from './settings/home-check.ts';
import { removeKeyFiles } from './home/key-files.ts';
import { Keys } from './vault/keys.ts';
import { clearLeftovers } from './home/leftovers.ts';
import { VaultLock } from './vault/vault-lock.ts';
import type { Level, Log } from './system/log.ts';
import { dispatch } from './methods/dispatch.ts';
import type { Services } from './methods/services.ts';
import { enterRegistration } from './methods/registration-entry.ts';
import { resetHome } from './reset.ts';
import { openSecrets, serviceOf } from './vault/secrets.ts';
import type { Secrets } from './vault/secrets.ts';
import { changeSetting, checkSetting } from './settings/setting-change.ts';
import { SettingsBook } from './settings/settings-book.ts';
import { socketAccess, windowAccess } from './clients/sign-in-access.ts';
import { statusOf } from './status.ts';
import { startRecords } from './start-records.ts';
import { homeMismatch, wasOpened } from './settings/mismatched-home.ts';
import { Subscribers } from './clients/subscribers.ts';
import { takeLock } from './home/single-instance.ts';
import { version } from './system/version.ts';
import { endsRefusal, widens } from './clients/widening.ts';

/** The process has one clock, which notes from its start on what time does. */
const clock = machineClock();

export interface DaemonOptions {
  readonly paths: HomePaths;
  readonly env: NodeJS.ProcessEnv;
  /** Started by the CLI rather than by the user: recorded settings win over the environment. */
  readonly autoStarted: boolean;
  /** Opens a URL for the person; gets the settings' browser command. */
  readonly openBrowser: (url: string, command: string | undefined) => Promise<void>;
  /** Starts the keychain's process, with this environment; with Node unless given. */
  readonly spawnWorker?: SpawnWorker;
  /** A person sits at this host: what the socket's owner wants to widen waits for their yes, in `owner`'s windows. */
  readonly desk?: true;
  /** The system's proxy for a URL, where the settings name none. */
  readonly proxyFor?: ProxyFor;
  readonly log: Log;
  /** Shields the host's process before a secret is read; answers what could not be done (shield.ts). */
  readonly shield: () => Promise<readonly string[]>;
}

export interface Daemon {
  readonly paths: HomePaths;
  readonly socket: string;
  readonly broker: Broker;
  /** The host's own way in: the owner in this process. `heard` gets the notifications of docs/wire.md. */
  owner(heard: (method: string) => void): InProcessOwner;
  /** The machine woke up, or its network is back: looks at clocks, tokens and what is pending now, not at the next tick. */
  resumed(): void;
  /** Stops it; resolves when the last rotation is in the vault, the socket is gone and the home is free. */
  stop(): Promise<void>;
  /** Resolves once it has stopped, whoever asked for it. */
  readonly stopped: Promise<void>;
}

/** Throws `broker_running`, `socket_unsafe`, `file_unreadable`, `invalid_request`. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { paths, env } = options;
  prepareFolders(paths);
  await checkFiles(paths);
  const unlock = await takeLock(paths.state);
  try {
    await clearLeftovers(paths, options.log.write);
    const unshielded = await options.shield();
    for (const fact of unshielded) options.log.write(`not shielded: ${fact}`, 'warn');
    const home = await openHome(paths);
    const book = new SettingsBook({
      paths,
      env,
      isNewHome: home.isNew,
      // Recorded settings win in the app: what a desktop session happens to set is nobody's decision.
      autoStarted: options.autoStarted || options.desk === true,
    });
    if (home.isNew) await syncFolder(paths.config);
    const isOpened = await wasOpened(home);
    const strange = homeMismatch(home, book.written, isOpened);
    if (strange) options.log.write(strange.message, 'error');
    return await run(options, { home, book, isOpened, strange, unlock, unshielded });
  } catch (error) {
    unlock();
    throw error;
  }
}

interface Opened {
  readonly home: Home;
  readonly book: SettingsBook;
  /** A vault of this home was opened before, as far as its files tell. */
  readonly isOpened: boolean;
  /** Why nothing is served. */
  readonly strange: KeyturnError | undefined;
  readonly unlock: () => void;
  readonly unshielded: readonly string[];
}

async function run(options: DaemonOptions, opened: Opened): Promise<Daemon> {
  const { env, log, spawnWorker, proxyFor } = options;
  const { home, book } = opened;
  const settings = book.current;
  const isDesk = options.desk === true;
  log.level = settings.logLevel;
  let queue: VaultListener | undefined;
  let parts: BrokerParts | undefined;
  const secrets = await openSecrets({
    home,
    settings,
    env,
    spawnWorker,
    now: clock.wall,
    log: log.write,
    queue: () => queue,
  });
  const { vault, master } = secrets;
  const { records, authority } = openRecords({ home, vault, master, log: log.write });
  const subscribers = new Subscribers();
  const changed = (): void => subscribers.tell('status.changed');
  const stopping = new AbortController();
  const { homeCheck, net, gates } = openGates({
    ...opened,
    secrets,
    isDesk,
    proxyFor,
    changed,
    log: log.write,
    renewAuthority: () => authority.renew(),
    parts: () => parts,
    over: stopping.signal,
  });
  // First: where the home is a strange one, nothing else is verified.
  authority.beside(() => homeCheck.verify());
  authority.afterwards((renew) => homeCheck.mark(renew));
  const assembled = partsOf({ options, opened, secrets, records, net, subscribers, gates });
  parts = assembled;
  authority.beside(() => assembled.refresher.secrets.open());
  await startRecords(records, parts, { log: log.write, isMismatched: opened.strange !== undefined });
  const broker = new Broker(parts);
  const revocations = new RevocationQueue(parts);
  const sweep = new IndexSweep(parts);
  queue = inOrder({ answered: () => verifySoon(authority), failed: () => undefined }, sweep, revocations);
  const vaultLock = new VaultLock({ secrets, broker: parts, settings, changed, log: log.write });
  book.whenKnown(() => vaultLock.settingsKnown());
  const asked = { options, opened, broker, secrets, net, records, authority, subscribers };
  homeCheck.begin();
  const built = { ...asked, revocations, sweep, vaultLock, homeCheck, stopping };
  return serve(built, new Keys({ home, master, ...parts }));
}

type PartsOf = Pick<Built, 'options' | 'opened' | 'secrets' | 'records' | 'net' | 'subscribers'> &
  Pick<Gates, 'gates'>;

function partsOf({ options, opened, secrets, records, net, subscribers, gates }: PartsOf): BrokerParts {
  const { openBrowser, log } = options;
  return assemble({
    clock,
    cache: new TokenCache(),
    loopback: new Loopback(),
    settings: opened.book.current,
    vault: secrets.vault,
    net,
    records,
    openBrowser,
    isDesk: options.desk === true,
    ...gates,
    audit: secrets.trail.file,
    log: (text) => log.write(text, 'warn'),
    questionsChanged: () => subscribers.tell('interaction.changed'),
    grantsChanged: () => subscribers.tell('grant.changed'),
  });
}

/** The vault answered somebody. Whoever needs what it says verifies again, and gets the error. */
function verifySoon(authority: Authority): void {
  void authority.verify().catch(() => undefined);
}

/** What stands before anybody can ask. */
interface Built {
  readonly options: DaemonOptions;
  readonly opened: Opened;
  readonly broker: Broker;
  readonly secrets: Secrets;
  readonly net: DaemonFetch;
  readonly records: Records;
  readonly authority: Authority;
  readonly subscribers: Subscribers;
  readonly revocations: RevocationQueue;
  readonly sweep: IndexSweep;
  readonly vaultLock: VaultLock;
  readonly homeCheck: HomeCheck;
  /** Aborted when the broker stops. */
  readonly stopping: AbortController;
}

async function serve(built: Built, keys: Keys): Promise<Daemon> {
  const { options, opened, broker, vaultLock, revocations, sweep } = built;
  const { home, book } = opened;
  const { log } = options;
  const door: { server?: BrokerServer } = {};
  const upkeep = new Upkeep(broker.parts);
  const ticking = new AbortController();
  const stopTimers = (): void => {
    vaultLock.stop();
    upkeep.stop();
    void sweep.end();
    ticking.abort();
    built.stopping.abort();
  };
  const shutdown = shutdownOf(built, () => door.server, stopTimers);
  const services = servicesOf(built, shutdown, () => door.server);
  const socket = prepareSocket(home.paths, options.env);
  // The person's own windows are not asked: they have a guard of their own.
  const answer = dispatchTo({ ...services, signIns: windowAccess });
  const answerCommands = dispatchTo({ ...services, ...approvalsOf(built, services) });
  const { homeId } = home;
  door.server = await listen(options, { answer: answerCommands, keys, vaultLock }, { socket, homeId });
  void repeatEvery(clock, lookPeriod, () => revocations.look(), ticking.signal);
  upkeep.start();
  log.write(`started: version ${version}, pid ${process.pid}, vault ${book.current.vault}`);
  const release = (isReleased: boolean): Promise<void> => built.homeCheck.release(isReleased);
  const judging =
    <P>(judge: (broker: Broker, params: P) => boolean) =>
    async (params: P): Promise<boolean> => {
      await services.verifyRecords();
      return judge(broker, params);
    };
  const judges = { widens: judging(widens), endsRefusal: judging(endsRefusal) };
  const owner = (heard: (method: string) => void): InProcessOwner =>
    inProcessOwner({ dispatch: answer, ...judges, release }, heard);
  const resumed = (): void => {
    upkeep.resumed();
    vaultLock.resumed();
    void revocations.lookAnew();
  };
  return {
    paths: home.paths,
    socket,
    broker,
    owner,
    resumed,
    stop: () => shutdown.finish(),
    stopped: shutdown.stopped,
  };
}

type ServerNow = () => BrokerServer | undefined;

function shutdownOf(built: Built, server: ServerNow, stopTimers: () => void): Shutdown {
  const { options, opened, broker, secrets, net, revocations, sweep } = built;
  const close = async (): Promise<void> => {
    await Promise.all([revocations.settled(), sweep.end()]);
    await Promise.allSettled([secrets.vault.close(), net.close()]);
  };
  return new Shutdown({
    broker,
    server,
    stopTimers,
    close,
    unlock: opened.unlock,
    log: options.log.write,
    after,
  });
}

function servicesOf(built: Built, shutdown: Shutdown, server: ServerNow): Services {
  const { options, opened, broker, records, authority, subscribers, vaultLock, homeCheck } = built;
  const { log } = options;
  const { home, book, unshielded } = opened;
  const { trail } = built.secrets;
  const { parts } = broker;
  return {
    broker,
    vaultLock,
    trail,
    settings: book,
    processes: new ClientProcesses((ended) => broker.consent.endRun(ended)),
    signIns: socketAccess(() => parts.isDesk),
    homeCheck,
    shutdown,
    // A memory vault has no records of its own to verify.
    verifyRecords: () => homeCheck.verify().then(() => authority.verify()),
    status: () => statusOf({ home, book, parts, records, trail, log, vaultLock, homeCheck, unshielded }),
    changeSetting: async (name, value) => {
      const change = await changeSetting({ home, book, parts, homeCheck }, name, value);
      log.level = book.current.logLevel;
      return change;
    },
    subscribe: (caller) => subscribers.add(caller),
    changed: () => subscribers.tell('status.changed'),
    noteFailure: (method, error) => {
      vaultLock.noted(error);
      if (!(error instanceof KeyturnError)) log.write(fault(method, error), 'error');
    },
    closeConnectionsOf: (clientId) => server()?.closeConnectionsOf(clientId),
    removeKeyOf: (clientId) => removeKeyFiles(home.paths, { clientId, brokerId: home.homeId }),
    register: (params) => enterRegistration(parts, params),
    reset: (params) =>
      resetHome(
        { broker, records, service: serviceOf(home), isMismatched: opened.strange !== undefined },
        params,
      ),
    stop: async () => {
      await shutdown.drain();
      // After the answer: it leaves with the connection's last bytes.
      setImmediate(() => void shutdown.finish());
    },
  };
}

/** Nothing for a host at which nobody sits: there commands act at once. */
function approvalsOf(
  { options, opened, broker, homeCheck }: Built,
  { processes }: Services,
): Pick<Services, 'approve'> {
  if (!options.desk) return {};
  const change = { ...opened, parts: broker.parts, homeCheck };
  const approvals = new Approvals({
    broker,
    processes,
    checkSetting: (name, value) => checkSetting(change, name, value),
  });
  return { approve: (caller, method, params) => approvals.require(caller, method, params) };
}

const dispatchTo =
  (services: Services): ServerDeps['dispatch'] =>
  (caller, method, params) =>
    dispatch(services, caller, method, params);

interface Served {
  readonly answer: ServerDeps['dispatch'];
  readonly keys: Keys;
  readonly vaultLock: VaultLock;
}

function listen(
  { desk: isAtDesk, log: { write: log } }: DaemonOptions,
  { answer, keys, vaultLock }: Served,
  { socket, homeId }: { readonly socket: string; readonly homeId: string },
): Promise<BrokerServer> {
  return startServer({
    path: socket,
    homeId,
    capabilities: [...versionCapability(version), ...(isAtDesk ? [deskCapability] : [])],
    keyFor: (clientId) => keys.keyFor(clientId),
    pair: async (request) => {
      vaultLock.refuseIfLocked();
      return keys.pair(request);
    },
    confirmPaired: (clientId) => keys.confirm(clientId),
    dispatch: answer,
    now: clock.now,
    log: (event) => log(JSON.stringify(event), eventLevels[event.event]),
  });
}

/** Connections come and go all day: only those that fail are worth a line that is always written. */
const eventLevels: Readonly<Record<ServerEvent['event'], Level>> = {
  authenticated: 'debug',
  closed: 'debug',
  refused: 'warn',
  unusual: 'warn',
};
