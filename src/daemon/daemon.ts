/**
 * The composition root: puts home, vault, broker and socket together, and takes them apart again.
 *
 * Invariants: start-up touches no keychain. Stopping finishes rotations that are under way, so that
 * no refresh token is lost between the server's answer and the vault. What opens browsers, starts
 * the keychain's process and tells the time is the host's to give.
 */
import { Broker } from '../broker/broker.ts';
import type { Grant } from '../broker/grant.ts';
import { every } from '../broker/every.ts';
import type { BrokerParts } from '../broker/parts.ts';
import type { RecordStore } from '../broker/record-store.ts';
import { lookPeriod, RevocationQueue } from '../broker/revocation-queue.ts';
import { abandonRevocation, isPending } from '../broker/revoker.ts';
import { KeyturnError } from '../errors.ts';
import { prepareSocket } from '../ipc/endpoint.ts';
import { startServer } from '../ipc/server.ts';
import type { BrokerServer, Caller } from '../ipc/server.ts';
import type { HomePaths } from '../paths.ts';
import { syncFolder } from '../private-file.ts';
import { assemble, now, openRecords } from './assembly.ts';
import type { Records } from './assembly.ts';
import { daemonFetch } from './fetch.ts';
import { checkFiles, openHome, prepareFolders } from './home.ts';
import type { Home } from './home.ts';
import { Keys } from './keys.ts';
import { clearLeftovers } from './leftovers.ts';
import { LockDesk } from './lock-desk.ts';
import { dispatch } from './methods.ts';
import type { Host } from './host.ts';
import { enterRegistration } from './registration-entry.ts';
import { resetHome } from './reset.ts';
import { openSecrets, serviceOf } from './secrets.ts';
import { readSettings } from './settings.ts';
import type { Settings } from './settings.ts';
import { takeLock } from './single-instance.ts';
import { version } from './version.ts';

export interface DaemonOptions {
  readonly paths: HomePaths;
  readonly env: NodeJS.ProcessEnv;
  /** Started by the CLI rather than by the user: recorded settings win over the environment. */
  readonly autoStarted: boolean;
  /** Opens a URL for the person; gets the settings' browser command. */
  readonly openBrowser: (url: string, command: string | undefined) => Promise<void>;
  /** Writes one line of the log. Lines hold no secret. */
  readonly log: (line: string) => void;
}

export interface Daemon {
  readonly paths: HomePaths;
  readonly socket: string;
  readonly broker: Broker;
  /** Stops it; resolves when the last rotation is in the vault and the socket is gone. */
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
    await clearLeftovers(paths, options.log);
    const home = await openHome(paths);
    const settings = readSettings({ paths, env, isNewHome: home.isNew, autoStarted: options.autoStarted });
    if (home.isNew) await syncFolder(paths.config);
    return await run(options, { home, settings, unlock });
  } catch (error) {
    unlock();
    throw error;
  }
}

interface Opened {
  readonly home: Home;
  readonly settings: Settings;
  readonly unlock: () => void;
}

async function run(options: DaemonOptions, { home, settings, unlock }: Opened): Promise<Daemon> {
  const { env, log } = options;
  let queue: RevocationQueue | undefined;
  const secrets = await openSecrets({ home, settings, env, now, log, queue: () => queue });
  const { vault, master, trail } = secrets;
  const net = daemonFetch(settings);
  const { records, authority } = openRecords({ home, vault, master, log: options.log });
  const subscribers = new Set<Caller>();
  const tell = (method: string): void => {
    for (const caller of subscribers) if (caller.role === 'owner') caller.notify(method, {});
  };
  const { openBrowser } = options;
  const questionsChanged = (): void => tell('interaction.changed');
  const parts = assemble({ settings, vault, net, records, audit: trail.file, openBrowser, questionsChanged });
  await loadRecords(records, options.log);
  // A record of grants that can't be read stays as it is, and refuses its own requests only.
  if (vault.kind === 'memory' && records.grants.isLoaded) await forgetMemoryVault(parts);
  const broker = new Broker(parts);
  const revocations = new RevocationQueue(parts);
  queue = revocations;
  const ending = new AbortController();
  const keys = new Keys({ ...parts, home, master });
  const changed = (): void => tell('status.changed');
  const desk = new LockDesk({ secrets, broker: parts, settings, changed, log });
  const stopped = Promise.withResolvers<void>();
  let server: BrokerServer | undefined;
  const stop = async (): Promise<void> => {
    desk.stop();
    await server?.close();
    ending.abort();
    await Promise.all([parts.refresher.settled(), revocations.settled()]);
    await Promise.allSettled([parts.audit.flush(), parts.clients.flush()]);
    await Promise.allSettled([vault.close(), net.close()]);
    unlock();
    stopped.resolve();
  };
  const stopOnce = once(stop);
  const host: Host = {
    broker,
    desk,
    trail,
    settings,
    verifyRecords: () => authority.verify(),
    status: () => statusOf({ home, settings, parts, records, desk }),
    changeSetting: () => Promise.reject(settingsFixed()),
    subscribe: (caller) => {
      subscribers.add(caller);
      caller.onClose(() => subscribers.delete(caller));
    },
    closeConnectionsOf: (clientId) => server?.closeConnectionsOf(clientId),
    register: (params) => enterRegistration(parts, params),
    reset: (params) => resetHome({ broker, records, service: serviceOf(home) }, params),
    // After the answer: it leaves with the connection's last bytes.
    stop: () => void setImmediate(() => void stopOnce()),
  };
  const socket = prepareSocket(home.paths, options.env);
  server = await listen(options, { host, keys, desk }, { socket, homeId: home.homeId });
  void every(parts.clock, lookPeriod, () => revocations.look(), ending.signal);
  return { paths: home.paths, socket, broker, stop: stopOnce, stopped: stopped.promise };
}

function listen(
  { log }: DaemonOptions,
  { host, keys, desk }: { readonly host: Host; readonly keys: Keys; readonly desk: LockDesk },
  { socket, homeId }: { readonly socket: string; readonly homeId: string },
): Promise<BrokerServer> {
  return startServer({
    path: socket,
    homeId,
    keyFor: (clientId) => keys.keyFor(clientId),
    pair: async (request) => {
      desk.refuseIfLocked();
      return keys.pair(request);
    },
    confirmPaired: (clientId) => keys.confirm(clientId),
    dispatch: (caller, method, params) =>
      dispatch(host, caller, method, params).catch((error: unknown) => {
        desk.noted(error);
        if (!(error instanceof KeyturnError)) log(fault(method, error));
        throw error;
      }),
    now,
    log: (event) => log(JSON.stringify(event)),
  });
}

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= work());
}

/** A file that can't be read refuses its own requests and is reported; the rest goes on. */
async function loadRecords(records: Records, log: (line: string) => void): Promise<void> {
  for (const store of storesOf(records)) {
    await store
      .load()
      .catch((error: unknown) => log(error instanceof Error ? error.message : 'a record file failed'));
  }
}

const storesOf = (records: Records): RecordStore<unknown>[] => Object.values(records);

/** The memory vault starts empty: what it held is gone, and the grants say so. */
async function forgetMemoryVault(parts: BrokerParts): Promise<void> {
  const { grants } = parts;
  const why = 'the memory vault forgot its tokens when the broker stopped';
  const active = grants.all().filter((grant: Grant) => grant.state.kind === 'active');
  for (const grant of active) {
    await grants.change(grant, { state: { kind: 'loginRequired', why }, hasRefreshToken: false });
  }
  for (const grant of grants.all().filter(isPending)) await abandonRevocation(parts, grant);
}

interface StatusParts {
  readonly home: Home;
  readonly settings: Settings;
  readonly parts: BrokerParts;
  readonly records: Records;
  readonly desk: LockDesk;
}

function statusOf({ home, settings, parts, records, desk }: StatusParts): ReturnType<Host['status']> {
  return {
    version,
    pid: process.pid,
    home: home.paths.state,
    vault: settings.vault,
    ...(settings.vault === 'sealed-file' ? { vaultKey: settings.vaultKey } : {}),
    vaultState: desk.state(),
    ...(settings.browser === undefined ? {} : { browser: settings.browser }),
    insecureLoopback: settings.insecureLoopback,
    grants: records.grants.isLoaded ? records.grants.items.length : 0,
    clients: records.clients.isLoaded ? records.clients.shown.length : 0,
    interactions: parts.interactions.list().length,
    overrides: records.overrides.isLoaded ? [...parts.overrides.shown()] : [],
    unreadable: storesOf(records).flatMap(({ trouble }) => (trouble ? [trouble] : [])),
  };
}

function settingsFixed(): KeyturnError {
  return new KeyturnError('invalid_request', 'Settings can’t be changed while the broker runs.', {
    hint: 'Stop it (keyturn daemon --stop), edit settings.json in the config folder, and start it again.',
  });
}

/** A fault of ours, for the log: where it happened, without its message, which may quote anything. */
function fault(method: string, error: unknown): string {
  const frames =
    error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  const name = error instanceof Error ? error.name : 'not an Error';
  return JSON.stringify({ event: 'fault', method, name, at: frames.slice(0, 8).map((line) => line.trim()) });
}
