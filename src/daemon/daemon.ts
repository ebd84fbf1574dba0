/**
 * A daemon from its start to its end, in one sitting: home, runtime, socket; then the same backwards.
 *
 * Invariants: the start opens no vault, but for a sealed file whose passphrase comes from no person. Stopping finishes
 * rotations that are under way, so that no refresh token is lost between the server's answer and the vault
 * (shutdown.ts).
 */
import { existsSync } from 'node:fs';
import type { Broker } from '../broker/broker.ts';
import { lookPeriod } from '../broker/revocation/revocation-queue.ts';
import { KeyturnError, reasonOf } from '../base/errors.ts';
import type { HomePaths } from '../base/paths.ts';
import { repeatEvery } from '../base/clock.ts';
import type { BrokerServer, ServerDeps } from '../ipc/server/server.ts';
import { after } from '../ipc/wire/timer.ts';
import { windowAccess } from './clients/sign-in-access.ts';
import { checkFiles, keepOthersOut, prepareFolders } from './home/home.ts';
import { takeLock } from './home/single-instance.ts';
import { inProcessOwner } from './in-process-owner.ts';
import type { InProcessOwner } from './in-process-owner.ts';
import { listen, serverOf } from './listen.ts';
import type { Listening } from './listen.ts';
import { approvalsOf, connectionsOf, servicesOf } from './method-services.ts';
import { dispatcher, recordsVerified } from './methods/dispatch.ts';
import { openLockedHome } from './opened-home.ts';
import type { DaemonOptions } from './options.ts';
import { proxiesOf } from './proxies.ts';
import { buildRuntime, clock } from './runtime.ts';
import type { Runtime } from './runtime.ts';
import { Shutdown } from './shutdown.ts';
import { IdleCollection, idlePeriod, processParts } from './system/idle-collection.ts';
import { version } from './system/version.ts';
import { keySourceOf, passphraseFrom } from './vault/key-source.ts';
import { startServer } from '../ipc/server/server.ts';
import { prepareForwardSocket } from '../ipc/wire/socket-path.ts';
import { Forwards } from './forwards/forwards.ts';

export type { DaemonOptions } from './options.ts';

export interface Daemon {
  readonly paths: HomePaths;
  readonly socket: string;
  readonly broker: Broker;
  /** The owner in the host's own process. `heard` gets the notifications of docs/reference/wire-protocol.md. */
  owner(heard: (method: string) => void): InProcessOwner;
  /**
   * The machine woke up, or its network is back: looks at clocks, tokens and what is pending now, not at the next tick.
   */
  resumed(): void;
  /**
   * Listens again where the file of the socket was lost; the broker also looks from time to time. True if it was lost.
   */
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
    const opened = await openLockedHome(options);
    const runtime = await buildRuntime(options, opened);
    return await serve(runtime, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

/** False once the home is gone. Else: the socket was lost, and listens again. */
async function lookAround(
  { options }: Runtime,
  shutdown: ReturnType<typeof shutdownOf>,
  listens: Listening,
  forwards: ReturnType<typeof forwardsOf>,
): Promise<boolean> {
  // Somebody removed the whole home. In a window its person is told by what fails.
  if (options.ownsProcess && !existsSync(options.paths.state)) {
    await shutdown.finish();
    return false;
  }
  const wasLost = await listens.look();
  await forwards.look();
  return wasLost;
}

async function serve(runtime: Runtime, unlock: () => void): Promise<Daemon> {
  const { options, opened, broker, vaultLock, revocations, upkeep, homeCheck } = runtime;
  // Requests come only after it listens: a connection is accepted in a later turn of the event loop.
  let listening: Listening | undefined;
  const server = (): BrokerServer | undefined => listening?.server;
  const forwards = forwardsOf(runtime, (...request) => dispatchSocket(...request));
  const proxies = proxiesOf(
    runtime,
    {
      ...connectionsOf(runtime, server, forwards),
      changed: () => runtime.subscribers.tell('status.changed'),
    },
    () => listening?.server.path ?? '',
  );
  const shutdown = shutdownOf(runtime, { unlock, server, forwards, stopProxies: () => proxies.stop() });
  const services = servicesOf(runtime, shutdown, { server, proxies: proxies.desk, forwards });
  // Requests of windows are not asked about again: they have a guard of their own.
  const dispatchWindow = dispatcher({ ...services, signIns: windowAccess });
  const dispatchSocket = dispatcher({ ...services, ...approvalsOf(runtime, services, forwards) });
  await openUnattended(runtime);
  const listens = await listen(runtime, dispatchSocket);
  listening = listens;
  if (opened.mismatch === undefined) proxies.desk.follow();

  void repeatEvery(clock, lookPeriod, () => revocations.look(), runtime.stopping.signal);
  // Nothing tells that the time of a permission or of a pause is over.
  const recheck = async (): Promise<void> => {
    runtime.pause.look();
    proxies.desk.recheck();
  };
  void repeatEvery(clock, recheckPeriod, recheck, runtime.stopping.signal);
  const look = async (): Promise<boolean> => lookAround(runtime, shutdown, listens, forwards);
  void repeatEvery(clock, socketPeriod, async () => void (await look()), runtime.stopping.signal);
  if (options.ownsProcess) collectWhileIdle(runtime.stopping.signal);
  upkeep.start();
  options.log.write(`started: version ${version}, pid ${process.pid}, vault ${opened.book.current.vault}`);
  return {
    paths: opened.home.paths,
    socket: listens.server.path,
    lookForSocket: look,
    broker,
    owner: (heard) =>
      inProcessOwner(
        {
          broker,
          dispatch: dispatchWindow,
          verifyRecords: async () => recordsVerified(services),
          release: (isReleased) => homeCheck.release(isReleased),
        },
        heard,
      ),
    resumed: () => {
      upkeep.resumed();
      vaultLock.resumed();
      void revocations.lookAnew();
    },
    stop: () => shutdown.finish(),
    stopped: shutdown.stopped,
  };
}

/** Before it listens, so that no program is refused. A vault that stays locked waits for a person. */
async function openUnattended({ options, opened, vaultLock, stopping }: Runtime): Promise<void> {
  const { vault, vaultKey } = opened.book.current;
  if (options.desk) {
    // A person sits there, who opens the vault when it is needed.
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

function collectWhileIdle(stopping: AbortSignal): void {
  const parts = processParts();
  if (!parts) return;
  const collection = new IdleCollection(parts);
  void repeatEvery(clock, idlePeriod, async () => collection.look(), stopping);
}

/** Milliseconds by which an answer of a proxy may outlast a permission whose time is over. */
const recheckPeriod = 5000;

/** Milliseconds for which a lost socket may go unnoticed where no command tells (SIGHUP): a look costs microseconds. */
const socketPeriod = 10_000;

interface Ended {
  readonly unlock: () => void;
  readonly server: () => BrokerServer | undefined;
  readonly forwards: Forwards;
  readonly stopProxies: () => void;
}

function shutdownOf(runtime: Runtime, { unlock, server, forwards, stopProxies }: Ended): Shutdown {
  const { options, broker, secrets, net, vaultLock, revocations, upkeep, stopping } = runtime;
  return new Shutdown({
    broker,
    server,
    stopTimers: () => {
      stopProxies();
      vaultLock.stop();
      upkeep.stop();
      stopping.abort();
    },
    close: async () => {
      await Promise.all([revocations.settled(), forwards.stop()]);
      await Promise.allSettled([secrets.vault.close(), net.close()]);
    },
    unlock,
    log: options.log.write,
    after,
  });
}

/** The forwards of a running broker. Opens nothing yet. */
function forwardsOf(runtime: Runtime, dispatch: ServerDeps['dispatch']): Forwards {
  const { home } = runtime.opened;
  return new Forwards({
    broker: runtime.broker,
    homeId: home.homeId,
    socketFor: (name) => prepareForwardSocket(home.paths, name, runtime.options.env),
    dispatch,
    serve: (forward, own) => startServer({ ...serverOf(runtime, forward), ...own }),
    changed: () => runtime.subscribers.tell('status.changed'),
  });
}
