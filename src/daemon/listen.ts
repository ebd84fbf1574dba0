/**
 * The socket of a running broker: which keys prove a program, and what is logged of connections.
 *
 * Invariant: while the vault is locked no program is paired, since no key could be made for it.
 */
import type { ForwardOrigin } from '../broker/records/local-client.ts';
import { preparePlace, recordSocket, socketPlaces } from '../ipc/wire/socket-path.ts';
import { reasonOf } from '../base/errors.ts';
import type { HomePaths } from '../base/paths.ts';
import { systemCode } from '../base/system-error.ts';
import { passedDescriptor } from '../ipc/server/passed-socket.ts';
import { startServer } from '../ipc/server/server.ts';
import type { BrokerServer, ServerDeps, ServerEvent } from '../ipc/server/server.ts';
import { deskCapability, versionCapability } from '../ipc/wire/capabilities.ts';
import { clock } from './runtime.ts';
import type { Runtime } from './runtime.ts';
import { isWritten } from './system/log.ts';
import type { Level, WriteLog } from './system/log.ts';
import { version } from './system/version.ts';

export interface Listening {
  readonly server: BrokerServer;
  /**
   * Listens again where the socket's file was lost (a logout, a mount or a cleaner took its folder), and records again
   * where it listens. True if it was lost. Never fails: the next look tries again.
   */
  look(): Promise<boolean>;
}

/** Throws `broker_running`, `socket_unsafe`. */
export async function listen(runtime: Runtime, dispatch: ServerDeps['dispatch']): Promise<Listening> {
  const { options } = runtime;
  const passed = passedDescriptor(options.env, process.pid);
  const server = await atFirstPlace(runtime, async (path) =>
    startServer({ ...serverOf(runtime), path, passed, dispatch }),
  );
  let looking: Promise<boolean> | undefined;
  return {
    server,
    look: async () =>
      (looking ??= look(runtime, server).finally(() => {
        looking = undefined;
      })),
  };
}

/** Opens at the first place that can be had, and records it. Throws the last place's refusal. */
async function atFirstPlace<T>({ options, opened }: Runtime, open: (path: string) => Promise<T>): Promise<T> {
  const { paths } = opened.home;
  let refusal: unknown;
  for (const path of socketPlaces(paths, options.env)) {
    try {
      preparePlace(path, options.env);
      const result = await open(path);
      record(paths, path, options.log.write);
      return result;
    } catch (error) {
      refusal = error;
    }
  }
  throw refusal;
}

/** On a full disk, say, programs with the broker's own environment still find it. */
function record(paths: HomePaths, socket: string, log: WriteLog): void {
  try {
    recordSocket(paths, socket);
  } catch (error) {
    log(`the path of the socket can't be recorded in ${paths.state} (${systemCode(error)})`, 'warn');
  }
}

async function look(runtime: Runtime, server: BrokerServer): Promise<boolean> {
  const { log } = runtime.options;
  if (runtime.stopping.signal.aborted) return false;
  if (!server.isLost()) {
    record(runtime.opened.home.paths, server.path, log.write);
    return false;
  }
  const lost = server.path;
  try {
    await atFirstPlace(runtime, async (path) => server.listenAgain(path));
    log.write(`the socket ${lost} was gone; the broker listens on ${server.path}`, 'warn');
  } catch (error) {
    log.write(`the socket ${lost} is gone, and no other can be made: ${reasonOf(error)}`, 'error');
  }
  return true;
}

/** What the sockets of a home have in common. `forward`: whose socket it is; absent: the home's own. */
export function serverOf(
  { options, opened, keys, vaultLock, secrets }: Runtime,
  forward?: ForwardOrigin,
): Omit<ServerDeps, 'path' | 'dispatch'> {
  return {
    homeId: opened.home.homeId,
    capabilities: [...versionCapability(version), ...(options.desk ? [deskCapability] : [])],
    keyFor: (clientId) => keys.keyFor(clientId, forward),
    pair: async (request) => {
      vaultLock.refuseIfLocked();
      return keys.pair(request, forward);
    },
    confirmPaired: (clientId) => keys.confirm(clientId),
    now: clock.now,
    // The audit log puts repeats within a minute into one row, so a flood can't fill it.
    turnedAway: (limit) => secrets.trail.note({ event: 'socket', outcome: `turned away: too many ${limit}` }),
    log: (event) => {
      const level = eventLevels[event.event];
      // Most events of a busy socket are for a search of a fault: no text is made for nobody.
      if (isWritten(level, options.log.level)) options.log.write(JSON.stringify(event), level);
    },
  };
}

/** Connections come and go all day: only those that fail are worth a line that is always written. */
const eventLevels: Readonly<Record<ServerEvent['event'], Level>> = {
  authenticated: 'debug',
  closed: 'debug',
  refused: 'warn',
};
