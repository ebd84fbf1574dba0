/**
 * Starts the daemon (lock, home, composition, socket) and stops it in reverse order.
 *
 * Invariants: the start opens no vault, but for a sealed file whose passphrase comes from no user. Stopping finishes
 * rotations that are under way, so that no refresh token is lost between the server's answer and the vault
 * (shutdown.ts).
 */
import { existsSync } from 'node:fs';
import { repeatEvery } from '../base/clock.ts';
import { KeyturnError, reasonOf } from '../base/errors.ts';
import type { HomePaths } from '../base/paths.ts';
import { syncFolder } from '../base/private/private-file.ts';
import { shieldGaps } from '../base/shield.ts';
import type { Broker } from '../broker/broker.ts';
import { lookPeriod } from '../broker/revocation/revocation-queue.ts';
import { windowAccess } from './apps/sign-in-access.ts';
import { clock, compose, type Composition, type OpenedHome } from './composition.ts';
import { checkFiles, isNewHome, keepOthersOut, openHome, prepareFolders } from './home/home.ts';
import { clearLeftovers } from './home/leftovers.ts';
import { homeMismatch } from './home/mismatched-home.ts';
import { takeLock } from './home/single-instance.ts';
import { dispatcher, inProcessOwner, type InProcessOwner } from './methods/dispatch.ts';
import type { DaemonOptions } from './options.ts';
import { SettingsBook } from './settings/settings-book.ts';
import { idleCollection, idlePeriod, loadTrim, processParts } from './system/idle-collection.ts';
import { version } from './system/version.ts';
import { keySourceOf, passphraseFrom } from './vault/key-source.ts';

export type { DaemonOptions } from './options.ts';

export interface Daemon {
  readonly paths: HomePaths;
  readonly socket: string;
  readonly broker: Broker;
  /** The owner in the host's own process. `heard` gets the notifications of ipc/protocol/methods.ts. */
  owner(heard: (method: string) => void): InProcessOwner;
  /**
   * The machine woke up, or its network is back: looks at clocks, tokens and what is pending now, not at the next tick.
   */
  resumed(): void;
  /** Listens again if the file of the socket was lost, as the broker does from time to time. True if it was lost. */
  lookForSocket(): Promise<boolean>;
  /** Stops it; resolves when the last rotation is in the vault, the socket is gone and the home is free. */
  stop(): Promise<void>;
  /** Resolves once it has stopped, for any reason. */
  readonly stopped: Promise<void>;
}

/** Throws `broker_running`, `socket_unsafe`, `file_unreadable`, `invalid_request`. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  prepareFolders(options.paths);
  await keepOthersOut(options.paths);
  await checkFiles(options.paths);
  const unlock = await takeLock(options.paths.state);
  try {
    const opened = await openLockedHome(options, unlock);
    return await serve(await compose(options, opened));
  } catch (error) {
    unlock();
    throw error;
  }
}

/**
 * Opens no vault. A home whose files don't belong together is opened as well, so that it can say so and be reset; it
 * serves nothing else. Throws `file_unreadable`, `invalid_request`.
 */
async function openLockedHome(options: DaemonOptions, unlock: () => void): Promise<OpenedHome> {
  const { paths, env, log } = options;
  await clearLeftovers(paths, log.write);
  const unshielded = await options.shield();
  for (const gap of unshielded) log.write(`not shielded: ${shieldGaps[gap]}`, 'warn');
  // Before the home is made: with a bad variable or file, the next start is the first one.
  const book = new SettingsBook({
    paths,
    env,
    isNewHome: await isNewHome(paths),
    // Recorded settings win in the app: what a desktop session happens to set is nobody's decision.
    autoStarted: options.autoStarted || options.keyturnApp === true,
  });
  const home = await openHome(paths);
  if (home.isNew) await syncFolder(paths.config);
  const mismatch = homeMismatch(home, book.written);
  if (mismatch) log.write(mismatch.message, 'error');
  return { home, book, mismatch, unshielded, unlock };
}

async function serve(composed: Composition): Promise<Daemon> {
  const { options, opened, broker, services, sockets, shutdown, proxies, upkeep } = composed;
  await openUnattended(composed);
  await sockets.listen(dispatcher(composed.socketServices));
  if (opened.mismatch === undefined) proxies.follow();
  const look = (): Promise<boolean> => lookAround(composed);
  repeatLooks(composed, look);
  upkeep.start();
  options.log.write(`started: version ${version}, pid ${process.pid}, vault ${opened.book.current.vault}`);
  return {
    paths: opened.home.paths,
    socket: sockets.path,
    lookForSocket: look,
    broker,
    // Requests of windows are not asked about again: they have a guard of their own.
    owner: (heard) => inProcessOwner({ ...services, signIns: windowAccess }, heard),
    resumed: () => {
      upkeep.resumed();
      composed.vaultLock.resumed();
      void composed.revocations.retryAll();
    },
    stop: () => shutdown.finish(),
    stopped: shutdown.stopped,
  };
}

/** False once the home is gone. Else whether the socket was lost: then it listens again, or the next look tries. */
async function lookAround({ options, shutdown, sockets, forwards }: Composition): Promise<boolean> {
  // Somebody removed the whole home. In a window its user is told by what fails.
  if (options.ownsProcess && !existsSync(options.paths.state)) {
    await shutdown.finish();
    return false;
  }
  const wasLost = await sockets.look();
  await forwards.look();
  return wasLost;
}

function repeatLooks(
  { options, pause, proxies, revocations, stopping: { signal } }: Composition,
  look: () => Promise<unknown>,
): void {
  void repeatEvery(clock, lookPeriod, () => revocations.look(), signal);
  // Nothing tells that the time of a permission or of a pause is over.
  const recheck = async (): Promise<void> => {
    pause.look();
    proxies.recheck();
  };
  void repeatEvery(clock, recheckPeriod, recheck, signal);
  void repeatEvery(clock, socketPeriod, async () => void (await look()), signal);
  if (options.ownsProcess) void collectWhileIdle(signal);
}

/** Before it listens, so that no app is refused. A vault that stays locked waits for a user. */
async function openUnattended({ options, opened, vaultLock, stopping }: Composition): Promise<void> {
  const { vault, vaultKey } = opened.book.current;
  if (options.keyturnApp) {
    // A user sits there, who opens the vault when it is needed.
    vaultLock.lookForKeychain(stopping.signal).catch(() => undefined);
    return;
  }
  if (vault !== 'sealed-file' || opened.mismatch !== undefined) return;
  const source = keySourceOf(vaultKey);
  if (!source) return;
  try {
    const passphrase = await passphraseFrom(vaultKey, options.env);
    await vaultLock.unlock({ passphrase }, stopping.signal);
    vaultLock.openedFrom(source);
  } catch (error) {
    const why = error instanceof KeyturnError ? error.message : reasonOf(error);
    options.log.write(`the vault stays locked: ${why}`, 'error');
    vaultLock.notOpenedFrom(source, error);
  }
}

async function collectWhileIdle(stopping: AbortSignal): Promise<void> {
  const parts = processParts(await loadTrim());
  if (!parts) return;
  const look = idleCollection(parts);
  void repeatEvery(clock, idlePeriod, async () => look(), stopping);
}

/** Milliseconds by which an answer of a proxy may outlast a permission whose time is over. */
const recheckPeriod = 5000;

/** Milliseconds for which a lost socket may go unnoticed where no command tells (SIGHUP): a look costs microseconds. */
const socketPeriod = 10_000;
