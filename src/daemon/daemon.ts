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
import type { BrokerServer, Caller, ServerDeps } from '../ipc/server.ts';
import type { HomePaths } from '../paths.ts';
import type { SpawnWorker } from '../vault/keychain-process.ts';
import { tellingFirstUse } from '../vault/first-use.ts';
import { openVault } from '../vault/open.ts';
import { assemble, now, openRecords } from './assembly.ts';
import { AuditTrail } from './audit-trail.ts';
import type { Records } from './assembly.ts';
import { deskOwner } from './desk-owner.ts';
import type { DeskOwner } from './desk-owner.ts';
import { daemonFetch } from './fetch.ts';
import type { ProxyFor } from './fetch.ts';
import { openHome, prepareFolders } from './home.ts';
import type { Home } from './home.ts';
import { Keys } from './keys.ts';
import { Master } from './master.ts';
import { dispatch } from './methods.ts';
import type { Host } from './host.ts';
import { enterRegistration } from './registration-entry.ts';
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
  /** Starts the keychain's process; with Node unless given. */
  readonly spawnWorker?: SpawnWorker;
  /** The system's proxy for a URL, where the settings name none. */
  readonly proxyFor?: ProxyFor;
  /** Writes one line of the log. Lines hold no secret. */
  readonly log: (line: string) => void;
}

export interface Daemon {
  readonly paths: HomePaths;
  readonly socket: string;
  readonly broker: Broker;
  /** The host's own way in: the owner in this process. `heard` gets the notifications of docs/wire.md. */
  owner(heard: (method: string) => void): DeskOwner;
  /** Stops it; resolves when the last rotation is in the vault and the socket is gone. */
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
    const settings = readSettings({ paths, env, isNewHome: home.isNew, autoStarted: options.autoStarted });
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

/** The vault, and what rests on it: the master secret and the audit log. Touches no keychain yet. */
function openSecrets({ log, spawnWorker }: DaemonOptions, home: Home, settings: Settings) {
  const worker = spawnWorker === undefined ? {} : { spawnWorker };
  const opened = openVault(settings.vault, { service: `keyturn/${home.homeId}`, ...worker });
  const vault = tellingFirstUse(opened, () => trail.seal());
  const master = new Master(vault, home);
  const trail = new AuditTrail({ folder: home.paths.state, vault, master, now, log });
  return { vault, master, trail };
}

async function run(options: DaemonOptions, { home, settings, unlock }: Opened): Promise<Daemon> {
  const { vault, master, trail } = openSecrets(options, home, settings);
  const net = daemonFetch({ ...settings, proxyFor: options.proxyFor });
  const records = openRecords(home.paths);
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
  const keys = new Keys({
    home,
    master,
    clients: parts.clients,
    interactions: parts.interactions,
    clock: parts.clock,
    audit: parts.audit,
  });
  const stopped = Promise.withResolvers<void>();
  let server: BrokerServer | undefined;
  const stop = async (): Promise<void> => {
    await server?.close();
    await parts.refresher.settled();
    await Promise.allSettled([parts.audit.flush(), parts.clients.flush()]);
    await Promise.allSettled([vault.close(), net.close()]);
    unlock();
    stopped.resolve();
  };
  const stopOnce = once(stop);
  const host: Host = {
    broker,
    trail,
    settings,
    status: () => statusOf(home, settings, parts, records),
    changeSetting: () => Promise.reject(settingsFixed()),
    subscribe: (caller) => {
      subscribers.add(caller);
      caller.onClose(() => subscribers.delete(caller));
    },
    closeConnectionsOf: (clientId) => server?.closeConnectionsOf(clientId),
    register: (params) => enterRegistration(parts, params),
    // After the answer: it leaves with the connection's last bytes.
    stop: () => void setImmediate(() => void stopOnce()),
  };
  const socket = prepareSocket(home.paths, options.env);
  const answer = dispatchTo(host, options.log);
  server = await listen(options, answer, keys, { socket, homeId: home.homeId });
  const owner = (heard: (method: string) => void): DeskOwner => deskOwner(answer, heard);
  return { paths: home.paths, socket, broker, owner, stop: stopOnce, stopped: stopped.promise };
}

/** Answers requests, and notes a fault of ours in the log. */
function dispatchTo(host: Host, log: DaemonOptions['log']): ServerDeps['dispatch'] {
  return (caller, method, params) =>
    dispatch(host, caller, method, params).catch((error: unknown) => {
      if (!(error instanceof KeyturnError)) log(fault(method, error));
      throw error;
    });
}

function listen(
  { log }: DaemonOptions,
  dispatchRequest: ServerDeps['dispatch'],
  keys: Keys,
  { socket, homeId }: { readonly socket: string; readonly homeId: string },
): Promise<BrokerServer> {
  return startServer({
    path: socket,
    homeId,
    keyFor: (clientId) => keys.keyFor(clientId),
    pair: (request) => keys.pair(request),
    confirmPaired: (clientId) => keys.confirm(clientId),
    dispatch: dispatchRequest,
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
  for (const file of Object.values(records)) {
    await file
      .load()
      .catch((error: unknown) => log(error instanceof Error ? error.message : `${file.path} failed`));
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

function statusOf(
  home: Home,
  settings: Settings,
  parts: BrokerParts,
  records: Records,
): ReturnType<Host['status']> {
  const files = Object.values(records);
  const count = (file: RecordFile<unknown>): number => (file.isLoaded ? file.items.length : 0);
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
