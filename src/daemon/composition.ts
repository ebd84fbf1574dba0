/**
 * Everything that runs in a broker of one home, put together bottom up: first vault and document, then what may go out,
 * the broker, what listens, and last what requests use. Nothing here is filled in later: a part that waits for another
 * one registers with it (`listen`, `afterwards`, `guardBy`).
 *
 * Invariants: nothing here opens the vault. The vault's first use verifies the home before
 * anything else, and then the document. Nothing goes out before that; while the Keyturn app runs, not before you
 * approved or refused the settings that were written outside Keyturn.
 */
import type { KeyObject } from 'node:crypto';
import { KeyturnError } from '../base/errors.ts';
import type { ShieldGap } from '../base/shield.ts';
import { forkChild } from '../base/system/child.ts';
import { Broker } from '../broker/broker.ts';
import { Loopback } from '../broker/loopback/loopback.ts';
import { brokerParts } from '../broker/parts.ts';
import { ApprovalRequests } from '../broker/approval-requests/approval-requests.ts';
import { Proxies } from '../broker/records/proxy.ts';
import { AccessPause } from '../broker/refusals/access-pause.ts';
import { RevocationQueue } from '../broker/revocation/revocation-queue.ts';
import { TokenCache } from '../broker/tokens/token-cache.ts';
import { Upkeep } from '../broker/tokens/upkeep.ts';
import { prepareForwardSocket } from '../ipc/wire/socket-path.ts';
import { after } from '../ipc/wire/timer.ts';
import { proxyWorkerFile } from '../proxy/worker-file.ts';
import type { HomeDocument } from '../store/document.ts';
import { AppProcesses } from './apps/app-processes.ts';
import { socketAccess } from './apps/sign-in-access.ts';
import { Forwards } from './forwards/forwards.ts';
import { HomeCheck } from './home/home-check.ts';
import { homeRecords } from './home/home-record.ts';
import type { Home } from './home/home.ts';
import { removeAppKeyFiles } from './home/app-key-files.ts';
import { KeptPause } from './home/kept-pause.ts';
import { vaultName, type Mismatch } from './home/mismatched-home.ts';
import { Approvals } from './approvals/approvals.ts';
import type { CommandApprovalParts } from './approvals/widening-methods.ts';
import { removeApp } from './methods/app-methods.ts';
import { requireShowable } from './methods/request-methods.ts';
import { resetHome } from './methods/reset.ts';
import type { Services } from './methods/services.ts';
import { changeSetting, checkSetting } from './methods/setting-change.ts';
import type { DaemonOptions } from './options.ts';
import { ProxiedApps } from './proxy/proxied-apps.ts';
import { RunningProxies } from './proxy/running-proxies.ts';
import { ProxyProcess } from './proxy/proxy-process.ts';
import type { SettingsBook } from './settings/settings-book.ts';
import { askAboutSettings } from './settings/settings-card.ts';
import { Shutdown } from './shutdown.ts';
import { Sockets } from './sockets.ts';
import { statusOf } from './status.ts';
import { Subscribers } from './subscribers.ts';
import { authoritiesVariable, readExtraAuthorities } from './system/authorities.ts';
import { BrowserDisplay } from './system/display.ts';
import { daemonFetch } from './system/fetch.ts';
import { handedNetwork } from './system/handed-network.ts';
import { machineClock } from './system/machine-clock.ts';
import { backupKeys } from './vault/backup-keys.ts';
import { AppKeys } from './vault/app-keys.ts';
import { openSecrets, serviceOf } from './vault/secrets.ts';
import { VaultLock } from './vault/vault-lock.ts';

/** The process has one clock, which notes from its start on what time does. */
export const clock = machineClock();

/** The home as a start finds it. */
export interface OpenedHome {
  readonly home: Home;
  readonly book: SettingsBook;
  /** Why nothing is served. */
  readonly mismatch: Mismatch | undefined;
  /** What the process could not be shielded from. */
  readonly unshielded: readonly ShieldGap[];
  /** Gives the home's lock up. */
  readonly unlock: () => void;
}

export type Core = Awaited<ReturnType<typeof openCore>>;

/** Vault, document and questions, and what may go out. Throws `file_unreadable`. */
async function openCore(options: DaemonOptions, opened: OpenedHome) {
  const { env, log, spawnWorker, proxyFor } = options;
  const { home, book } = opened;
  const isKeyturnApp = options.keyturnApp === true;
  const stopping = new AbortController();
  const subscribers = new Subscribers();
  const changed = (): void => subscribers.tell('status.changed');
  const open = await openSecrets({ home, settings: book.current, env, spawnWorker, now: clock.wall });
  const root = async (): Promise<KeyObject> => {
    // In a home that may be another vault's, nothing is verified.
    if (opened.mismatch) throw opened.mismatch;
    return open.root();
  };
  const secrets = { ...open, root };
  const { guard: vault, trail } = secrets;
  const place = { home: home.homeId, vault: vaultName(book.current) };
  const records = homeRecords({ folder: home.paths.state, place, vault, root });
  const tellQuestions = (): void => subscribers.tell('request.changed');
  const approvalRequests = new ApprovalRequests(() => clock.wall(), tellQuestions, requireShowable);
  const asking = { approvalRequests, audit: trail, clock };
  const homeCheck = new HomeCheck({
    ...opened,
    vault,
    document: records.document,
    records: records.home,
    isKeyturnApp,
    ask: (asked, answered) => askAboutSettings(asking, asked, stopping.signal, answered),
    allowed: records,
    wall: clock.wall,
    changed,
    log: log.write,
  });
  approvalRequests.guardBy(() => homeCheck.requireMayWiden());
  const { extraAuthorities } = book.written;
  // A headless broker without them could reach no server: the start says so.
  if (!isKeyturnApp && extraAuthorities !== undefined) readExtraAuthorities(extraAuthorities);
  const net = daemonFetch(async () => {
    await homeCheck.requireSettingsAnswered();
    const { httpsProxy, noProxy } = book.current;
    const ignoresEnvironment = isKeyturnApp || homeCheck.isClosed;
    return { authorities: homeCheck.extraAuthorities, httpsProxy, noProxy, proxyFor, ignoresEnvironment };
  });
  const going = { options, opened, stopping, subscribers, changed };
  return { ...going, secrets, records, approvalRequests, homeCheck, net };
}

type BrokerRun = Awaited<ReturnType<typeof openBroker>>;

/** The broker, its document read, and what works in the background. */
async function openBroker(core: Core) {
  const { options, opened, stopping, subscribers, changed } = core;
  const { secrets, records, approvalRequests, homeCheck, net } = core;
  const { home, book } = opened;
  const settings = book.current;
  const { document } = records;
  const display = new BrowserDisplay(options.env);
  const parts = brokerParts(
    {
      clock,
      audit: secrets.trail,
      vault: secrets.guard,
      cache: new TokenCache(),
      loopback: new Loopback({ seed: home.homeId }),
      approvalRequests,
      pause: new AccessPause(clock.wall),
      isKeyturnApp: options.keyturnApp === true,
      requireSettingsAnswered: () => homeCheck.requireSettingsAnswered(),
    },
    {
      records,
      settings,
      fetchFor: (endpoint, isConfirmed) => net.fetchFor(endpoint, isConfirmed),
      openBrowser: (url, command) =>
        options.openBrowser(url, command, {
          ...display.environment(),
          ...(command !== undefined && authoritiesVariable(settings.extraAuthorities, homeCheck)),
        }),
      signInsChanged: () => subscribers.tell('signIn.changed'),
    },
  );
  const pause = new KeptPause({ ...parts, ...records, changed });
  document.afterwards(async () => pause.restore());
  document.afterwards(() => homeCheck.load());
  // Not awaited: it waits for this verification.
  document.afterwards(async () => void parts.items.tidy());
  await loadDocument(document, options);
  const revocations = new RevocationQueue(parts);
  secrets.guard.listen({ answered: () => verifySoon(document), failed: () => undefined });
  secrets.guard.listen(revocations);
  const vaultLock = new VaultLock({ secrets, broker: parts, settings, changed, log: options.log.write });
  book.onApproved(() => vaultLock.settingsChanged());
  homeCheck.begin();
  const broker = new Broker(parts);
  const keys = new AppKeys({ home, root: secrets.root, ...parts });
  const audit = secrets.trail;
  const sockets = new Sockets({ options, home, keys, vaultLock, audit, clock, stopping: stopping.signal });
  return { broker, display, pause, revocations, vaultLock, keys, sockets, upkeep: new Upkeep(parts) };
}

/** A document that can't be read stays as it is, and refuses what needs it. */
async function loadDocument(document: HomeDocument, { log }: Pick<DaemonOptions, 'log'>): Promise<void> {
  await document
    .load()
    .catch((error: unknown) =>
      log.write(error instanceof Error ? error.message : 'the document failed', 'error'),
    );
}

/** The vault answered a call. Each request that needs the document verifies it again, and gets the error. */
function verifySoon(document: HomeDocument): void {
  void document
    .verify()
    .then(() => document.settle())
    .catch(() => undefined);
}

type Ways = ReturnType<typeof openWays>;

/** Forwards and proxies, by which apps come that can't use the home's own socket; and how an app is unpaired. */
function openWays({ options, opened, changed, records, homeCheck, net }: Core, run: BrokerRun) {
  const { broker, keys, vaultLock, sockets } = run;
  const { home } = opened;
  const forwards = new Forwards({
    broker,
    homeId: home.homeId,
    socketFor: (name) => prepareForwardSocket(home.paths, name, options.env),
    sockets,
    changed,
  });
  const unpairing = {
    closeConnectionsOf: (appId: string) => {
      sockets.closeConnectionsOf(appId);
      forwards.closeConnectionsOf(appId);
    },
    removeKeyOf: (appId: string) => removeAppKeyFiles(home.paths, { appId, brokerId: home.homeId }),
  };
  const list = new Proxies(records.proxies);
  const apps = new ProxiedApps({
    proxies: list,
    keys,
    net,
    parts: broker.parts,
    socket: () => sockets.path,
    changed,
    removeApp: (id) => removeApp({ broker, ...unpairing }, id),
    verify: async () => {
      homeCheck.refuseMismatch();
      vaultLock.refuseIfLocked();
      await records.document.verify();
    },
  });
  const process = new ProxyProcess({
    spawn: options.spawnProxy ?? ((env) => forkChild(proxyWorkerFile, env)),
    env: options.env,
    clock,
    log: options.log.write,
    admit: (entry) => apps.admit(entry),
    changed,
  });
  const proxies = new RunningProxies({ broker, proxies: list, apps, process });
  return { forwards, unpairing, proxyList: list, proxies, stopProxies: () => process.stop() };
}

function shutdownOf({ options, opened, stopping, secrets, net }: Core, run: BrokerRun, ways: Ways): Shutdown {
  const { broker, sockets, vaultLock, upkeep, revocations } = run;
  return new Shutdown({
    broker,
    closeSocket: () => sockets.close(),
    stopTimers: () => {
      ways.stopProxies();
      vaultLock.stop();
      upkeep.stop();
      stopping.abort();
    },
    close: async () => {
      await Promise.all([revocations.settled(), ways.forwards.stop()]);
      await Promise.allSettled([secrets.guard.close(), net.close()]);
    },
    unlock: opened.unlock,
    log: options.log.write,
    after,
  });
}

/** What a request needs, over the socket or from a window. */
function servicesOf(core: Core, run: BrokerRun, { forwards, proxies, unpairing }: Ways, shutdown: Shutdown) {
  const { options, opened, subscribers, secrets, records, homeCheck, net } = core;
  const { broker, vaultLock, pause, display } = run;
  const { home, book } = opened;
  const { log } = options;
  const { trail, root } = secrets;
  const { parts } = broker;
  const settingParts = { book, parts, homeCheck };
  const isMismatched = opened.mismatch !== undefined;
  return {
    ...unpairing,
    broker,
    vaultLock,
    backupKeys: backupKeys(root, home.homeId),
    pause,
    trail,
    settings: book,
    processes: new AppProcesses((ended) => broker.consent.endRun(ended)),
    signIns: socketAccess(() => parts.isKeyturnApp),
    homeCheck,
    proxies,
    forwards,
    shutdown,
    document: records.document,
    network: async (endpoint) =>
      handedNetwork(await net.agentFor(endpoint, (url) => parts.exceptions.isPrivate(url))),
    status: () =>
      statusOf({ ...opened, parts, records, trail, log, vaultLock, homeCheck, proxies, forwards, display }),
    checkSetting: (name, value) => checkSetting(settingParts, name, value),
    changeSetting: async (name, value) => {
      const change = await changeSetting(settingParts, name, value);
      log.level = book.current.logLevel;
      return change;
    },
    subscribe: (caller) => subscribers.add(caller),
    setDisplay: (given) => display.set(given),
    changed: () => {
      proxies.recheck();
      void proxies.reroute();
      core.changed();
    },
    noteFailure: (method, error) => {
      vaultLock.noted(error);
      if (!(error instanceof KeyturnError)) log.write(fault(method, error), 'error');
    },
    reset: async (params) => {
      const answer = await resetHome({ broker, records, service: serviceOf(home), isMismatched }, params);
      shutdown.removeFiles = () => options.removeFiles?.(answer.unreadable, opened.unlock);
      return answer;
    },
    stop: async () => {
      await shutdown.drain();
      // After the answer: it leaves with the connection's last bytes.
      setImmediate(() => void shutdown.finish());
    },
  } satisfies Services & Pick<CommandApprovalParts, 'checkSetting'>;
}

/** An internal error as the log may have it: where it happened, and never its message, which may quote anything. */
function fault(method: string, error: unknown): string {
  const frames =
    error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  const name = error instanceof Error ? error.name : 'not an Error';
  return JSON.stringify({ event: 'fault', method, name, at: frames.slice(0, 8).map((line) => line.trim()) });
}

export type Composition = Awaited<ReturnType<typeof compose>>;

/** Throws `file_unreadable`. */
export async function compose(options: DaemonOptions, opened: OpenedHome) {
  options.log.level = opened.book.current.logLevel;
  const core = await openCore(options, opened);
  const run = await openBroker(core);
  const ways = openWays(core, run);
  const shutdown = shutdownOf(core, run, ways);
  const services = servicesOf(core, run, ways, shutdown);
  // Without a user at the broker, commands take effect at once.
  const approvals = options.keyturnApp && new Approvals({ ...services, proxies: ways.proxyList });
  const socketServices: Services = {
    ...services,
    ...(approvals && { approve: (...request) => approvals.require(...request) }),
  };
  return { ...core, ...run, ...ways, shutdown, services, socketServices };
}
