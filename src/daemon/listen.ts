/**
 * The socket of a running broker: which keys prove a program, and what is logged of connections.
 *
 * Invariant: while the vault is locked no program is paired, since no key could be made for it.
 */
import type { ForwardOrigin } from '../broker/records/local-client.ts';
import { prepareSocket } from '../ipc/wire/socket-path.ts';
import { passedDescriptor } from '../ipc/server/passed-socket.ts';
import { startServer } from '../ipc/server/server.ts';
import type { BrokerServer, ServerDeps, ServerEvent } from '../ipc/server/server.ts';
import { deskCapability, versionCapability } from '../ipc/wire/capabilities.ts';
import { clock } from './runtime.ts';
import type { Runtime } from './runtime.ts';
import { isWritten } from './system/log.ts';
import type { Level } from './system/log.ts';
import { version } from './system/version.ts';

export interface Listening {
  readonly socket: string;
  readonly server: BrokerServer;
}

/** Throws `broker_running`, `socket_unsafe`. */
export async function listen(runtime: Runtime, dispatch: ServerDeps['dispatch']): Promise<Listening> {
  const { options, opened } = runtime;
  const socket = prepareSocket(opened.home.paths, options.env);
  const passed = passedDescriptor(options.env, process.pid);
  const server = await startServer({ ...serverOf(runtime), path: socket, passed, dispatch });
  return { socket, server };
}

/** What the sockets of a home have in common. `forward`: whose socket it is; absent: the home's own. */
export function serverOf(
  { options, opened, keys, vaultLock }: Runtime,
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
  unusual: 'warn',
};
