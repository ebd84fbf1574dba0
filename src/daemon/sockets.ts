/**
 * The sockets of a running broker, the home's own and those of forwards: which keys prove an app, and what is logged
 * of connections.
 *
 * Invariant: while the vault is locked no app is paired, since no key could be made for it.
 */
import type { ForwardOrigin } from '../broker/records/app.ts';
import { removeStale } from '../ipc/wire/socket.ts';
import { preparePlace, recordedSocket, recordSocket, socketPlaces } from '../ipc/wire/socket-path.ts';
import { KeyturnError, reasonOf } from '../base/errors.ts';
import { systemCode } from '../base/system-error.ts';
import { passedDescriptor } from '../ipc/server/passed-socket.ts';
import { startServer, type BrokerServer, type ServerDeps, type ServerEvent } from '../ipc/server/server.ts';
import { appCapability, homeCapability, versionCapability } from '../ipc/wire/capabilities.ts';
import type { Audit } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import type { Home } from './home/home.ts';
import type { DaemonOptions } from './options.ts';
import type { AppKeys } from './vault/app-keys.ts';
import type { VaultLock } from './vault/vault-lock.ts';
import { isWritten, type Level } from './system/log.ts';
import { version } from './system/version.ts';

export interface SocketParts {
  readonly options: Pick<DaemonOptions, 'env' | 'log' | 'keyturnApp'>;
  readonly home: Pick<Home, 'homeId' | 'paths'>;
  readonly keys: AppKeys;
  readonly vaultLock: Pick<VaultLock, 'refuseIfLocked'>;
  readonly audit: Pick<Audit, 'note'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Aborted when the broker stops. */
  readonly stopping: AbortSignal;
}

export class Sockets {
  readonly #parts: SocketParts;
  /** The home's own. */
  #server: BrokerServer | undefined;
  #dispatch: ServerDeps['dispatch'] | undefined;
  #looking: Promise<boolean> | undefined;

  constructor(parts: SocketParts) {
    this.#parts = parts;
  }

  /** Opens the home's own socket, whose requests `dispatch` answers. Throws `broker_running`, `socket_unsafe`. */
  async listen(dispatch: ServerDeps['dispatch']): Promise<void> {
    const passed = passedDescriptor(this.#parts.options.env, process.pid);
    const open = (path: string): Promise<BrokerServer> =>
      startServer({ ...this.#served(), path, passed, dispatch });
    this.#dispatch = dispatch;
    this.#server = await this.#atFirstPlace(open);
  }

  /** Opens the socket of a forward. Throws as `listen`. */
  serve(
    forward: ForwardOrigin,
    own: Pick<ServerDeps, 'path' | 'socketId' | 'dispatch'>,
  ): Promise<BrokerServer> {
    return startServer({ ...this.#served(forward), ...own });
  }

  /** Answers as the home's own socket does. */
  dispatch(...request: Parameters<ServerDeps['dispatch']>): unknown {
    return this.#dispatch?.(...request);
  }

  /** Of the home's own socket; empty before it is open. */
  get path(): string {
    return this.#server?.path ?? '';
  }

  closeConnectionsOf(appId: string): void {
    this.#server?.closeConnectionsOf(appId);
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  /**
   * Listens again if the socket's file was lost (a logout, a mount or a cleaner took its folder), and records again
   * where it listens. True if it was lost. Never fails: the next look tries again.
   */
  async look(): Promise<boolean> {
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #look(): Promise<boolean> {
    const server = this.#server;
    const { log } = this.#parts.options;
    if (!server || this.#parts.stopping.aborted) return false;
    if (!server.isLost()) {
      this.#record(server.path);
      return false;
    }
    const lost = server.path;
    try {
      await this.#atFirstPlace(async (path) => server.listenAgain(path));
      log.write(`the socket ${lost} was gone; the broker listens on ${server.path}`, 'warn');
    } catch (error) {
      log.write(`the socket ${lost} is gone, and no other can be made: ${reasonOf(error)}`, 'error');
    }
    return true;
  }

  /** Opens at the first place that can be had, and records it. Throws the last place's refusal. */
  async #atFirstPlace<T>(open: (path: string) => Promise<T>): Promise<T> {
    const { home, options } = this.#parts;
    let refusal: unknown;
    for (const path of socketPlaces(home.paths, options.env)) {
      try {
        preparePlace(path, options.env);
        const result = await open(path);
        this.#record(path);
        return result;
      } catch (error) {
        refusal = error;
      }
    }
    throw refusal;
  }

  /** On a full disk, say, programs with the broker's own environment still find it. */
  #record(socket: string): void {
    const { paths } = this.#parts.home;
    try {
      const before = recordedSocket(paths);
      recordSocket(paths, socket);
      // A broker that was killed left it. If somebody listens there, this home is a copy, and the socket stays.
      if (before !== undefined && before !== socket) removeStale(before).catch(() => undefined);
    } catch (error) {
      const why = error instanceof KeyturnError ? error.message : systemCode(error);
      this.#parts.options.log.write(`the path of the socket can't be recorded: ${why}`, 'warn');
    }
  }

  /** What the sockets of a home have in common. `forward`: whose socket it is; absent: the home's own. */
  #served(forward?: ForwardOrigin): Omit<ServerDeps, 'path' | 'dispatch'> {
    const { options, home, keys, vaultLock, audit, clock } = this.#parts;
    return {
      homeId: home.homeId,
      capabilities: [
        ...versionCapability(version),
        // Programs at the other end of a forward have folders of their own.
        ...(forward ? [] : homeCapability(home.paths)),
        ...(options.keyturnApp ? [appCapability] : []),
      ],
      keyFor: (appId) => keys.keyFor(appId, forward),
      pair: async (request) => {
        vaultLock.refuseIfLocked();
        return keys.pair(request, forward);
      },
      confirmPaired: (appId) => keys.confirm(appId),
      now: () => clock.now(),
      // The audit log puts repeats within a minute into one row, so a flood can't fill it.
      turnedAway: (limit) => audit.note({ event: 'socket', outcome: `turned away: too many ${limit}` }),
      log: (event) => {
        const level = eventLevels[event.event];
        // Most events of a busy socket are below the level, and their text costs time.
        if (isWritten(level, options.log.level)) options.log.write(JSON.stringify(event), level);
      },
    };
  }
}

/** Connections come and go all day: only those that fail are worth a line that is always written. */
const eventLevels: Readonly<Record<ServerEvent['event'], Level>> = {
  authenticated: 'debug',
  closed: 'debug',
  refused: 'warn',
};
