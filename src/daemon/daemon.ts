/**
 * The composition root: puts home, vault, broker and socket together, and takes them apart again.
 *
 * Invariants: start-up touches no keychain. Stopping finishes rotations that are under way, so that
 * no refresh token is lost between the server's answer and the vault. What opens browsers, starts
 * the keychain's process and tells the time is the host's to give.
 */
import { Broker } from '../broker/broker.ts';
import type { Grant } from '../broker/grant.ts';
import type { BrokerParts } from '../broker/parts.ts';
import type { RecordFile } from '../broker/record-file.ts';
import { KeyturnError } from '../errors.ts';
import { prepareSocket } from '../ipc/endpoint.ts';
import { startServer } from '../ipc/server.ts';
import type { BrokerServer, Caller, ServerEvent } from '../ipc/server.ts';
import { after, versionCapability } from '../ipc/wire.ts';
import type { HomePaths } from '../paths.ts';
import { tellingFirstUse } from '../vault/first-use.ts';
import { openVault } from '../vault/open.ts';
import { assemble, now, openRecords } from './assembly.ts';
import { Askers } from './askers.ts';
import { AuditTrail } from './audit-trail.ts';
import type { Records } from './assembly.ts';
import { Ending } from './ending.ts';
import { daemonFetch } from './fetch.ts';
import { openHome, prepareFolders } from './home.ts';
import type { Home } from './home.ts';
import { Keys } from './keys.ts';
import type { Level, Log, WriteLog } from './log.ts';
import { Master } from './master.ts';
import { dispatch } from './methods.ts';
import type { Host } from './host.ts';
import { enterRegistration } from './registration-entry.ts';
import { changeSetting } from './setting-change.ts';
import { SettingsBook } from './settings-book.ts';
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
  readonly log: Log;
}

export interface Daemon {
  readonly paths: HomePaths;
  readonly socket: string;
  readonly broker: Broker;
  /** Stops it; resolves when the last rotation is in the vault, the socket is gone and the home is free. */
  stop(): Promise<void>;
  /** Resolves once it has stopped, whoever asked for it. */
  readonly stopped: Promise<void>;
}

/** Throws `broker_running`, `socket_unsafe`, `file_unreadable`, `invalid_request`. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { paths, env } = options;
  prepareFolders(paths);
  const unlock = await takeLock(paths.state);
  try {
    const home = await openHome(paths);
    const book = new SettingsBook({ paths, env, isNewHome: home.isNew, autoStarted: options.autoStarted });
    return await run(options, { home, book, unlock });
  } catch (error) {
    unlock();
    throw error;
  }
}

interface Opened {
  readonly home: Home;
  readonly book: SettingsBook;
  readonly unlock: () => void;
}

/** The vault, and what rests on it: the master secret and the audit log. Touches no keychain yet. */
function openSecrets({ log }: DaemonOptions, home: Home, settings: Settings) {
  const opened = openVault(settings.vault, { service: `keyturn/${home.homeId}` });
  const vault = tellingFirstUse(opened, () => trail.seal());
  const master = new Master(vault, home);
  const trail = new AuditTrail({ folder: home.paths.state, vault, master, now, log: log.write });
  return { vault, master, trail };
}

async function run(options: DaemonOptions, { home, book, unlock }: Opened): Promise<Daemon> {
  const { log, openBrowser } = options;
  const settings = book.current;
  log.level = settings.logLevel;
  const { vault, master, trail } = openSecrets(options, home, settings);
  const net = daemonFetch(settings);
  const records = openRecords(home.paths);
  const subscribers = new Set<Caller>();
  const tell = (method: string): void => {
    for (const caller of subscribers) if (caller.role === 'owner') caller.notify(method, {});
  };
  const questionsChanged = (): void => tell('interaction.changed');
  const parts = assemble({ settings, vault, net, records, audit: trail.file, openBrowser, questionsChanged });
  await loadRecords(records, log.write);
  // A record of grants that can't be read stays as it is, and refuses its own requests only.
  if (vault.kind === 'memory' && records.grants.isLoaded) await forgetMemoryVault(parts);
  const broker = new Broker(parts);
  const keys = new Keys({ home, master, ...parts });
  let server: BrokerServer | undefined;
  const close = (): Promise<unknown> => Promise.allSettled([vault.close(), net.close()]);
  const ending = new Ending({ broker, server: () => server, close, unlock, log: log.write, after });
  const host: Host = {
    broker,
    trail,
    settings: book,
    askers: new Askers((ended) => broker.consent.endRun(ended)),
    status: () => statusOf({ home, book, parts, records, trail, log }),
    changeSetting: async (name, value) => {
      const changed = await changeSetting({ home, book, parts }, name, value);
      log.level = settings.logLevel;
      return changed;
    },
    subscribe: (caller) => {
      subscribers.add(caller);
      caller.onClose(() => subscribers.delete(caller));
    },
    closeConnectionsOf: (clientId) => server?.closeConnectionsOf(clientId),
    register: (params) => enterRegistration(parts, params),
    stop: async () => {
      await ending.settle();
      // After the answer: it leaves with the connection's last bytes.
      setImmediate(() => void ending.complete());
    },
  };
  const socket = prepareSocket(home.paths, options.env);
  server = await listen(log.write, { host, keys, ending }, { socket, homeId: home.homeId });
  log.write(`started: version ${version}, pid ${process.pid}, vault ${settings.vault}`);
  return { paths: home.paths, socket, broker, stop: () => ending.complete(), stopped: ending.stopped };
}

interface Served {
  readonly host: Host;
  readonly keys: Keys;
  readonly ending: Ending;
}

function listen(
  log: WriteLog,
  { host, keys, ending }: Served,
  { socket, homeId }: { readonly socket: string; readonly homeId: string },
): Promise<BrokerServer> {
  return startServer({
    path: socket,
    homeId,
    capabilities: versionCapability(version),
    keyFor: (clientId) => keys.keyFor(clientId),
    pair: (request) => keys.pair(request),
    confirmPaired: (clientId) => keys.confirm(clientId),
    dispatch: (caller, method, params) => {
      const request = (): Promise<unknown> => dispatch(host, caller, method, params);
      // Whoever stops the broker waits for the other requests, and must not wait for itself.
      const answer = method === 'daemon.stop' ? request() : ending.run(request);
      return answer.catch((error: unknown) => {
        if (!(error instanceof KeyturnError)) log(fault(method, error), 'error');
        throw error;
      });
    },
    now,
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

/** A file that can't be read refuses its own requests and is reported; the rest goes on. */
async function loadRecords(records: Records, log: WriteLog): Promise<void> {
  for (const file of Object.values(records)) {
    await file
      .load()
      .catch((error: unknown) =>
        log(error instanceof Error ? error.message : `${file.path} failed`, 'error'),
      );
  }
}

/** The memory vault starts empty: what it held is gone, and the grants say so. */
async function forgetMemoryVault({ grants }: BrokerParts): Promise<void> {
  const why = 'the memory vault forgot its tokens when the broker stopped';
  const active = grants.all().filter((grant: Grant) => grant.state.kind === 'active');
  for (const grant of active) {
    await grants.change(grant, { state: { kind: 'loginRequired', why }, hasRefreshToken: false });
  }
}

interface Reported {
  readonly home: Home;
  readonly book: SettingsBook;
  readonly parts: BrokerParts;
  readonly records: Records;
  readonly trail: AuditTrail;
  readonly log: Log;
}

function statusOf({ home, book, parts, records, trail, log }: Reported): ReturnType<Host['status']> {
  const files = Object.values(records);
  const count = (file: RecordFile<unknown>): number => (file.isLoaded ? file.items.length : 0);
  const settings = book.current;
  return {
    version,
    pid: process.pid,
    home: home.paths.state,
    vault: settings.vault,
    ...(settings.browser === undefined ? {} : { browser: settings.browser }),
    insecureLoopback: settings.insecureLoopback,
    grants: count(records.grants),
    clients: count(records.clients),
    interactions: parts.interactions.list().length,
    overrides: records.overrides.isLoaded ? [...parts.overrides.all()] : [],
    unreadable: files.filter((file) => !file.isLoaded).map((file) => file.path),
    settings: book.recorded(),
    log: { level: log.level, ...(log.file === undefined ? {} : { file: log.file }), ok: log.isOk },
    audit: trail.state,
  };
}

/** A fault of ours, for the log: where it happened, without its message, which may quote anything. */
function fault(method: string, error: unknown): string {
  const frames =
    error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  const name = error instanceof Error ? error.name : 'not an Error';
  return JSON.stringify({ event: 'fault', method, name, at: frames.slice(0, 8).map((line) => line.trim()) });
}
