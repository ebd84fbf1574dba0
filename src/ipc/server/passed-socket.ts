/**
 * A listening socket that systemd made and passed to this process (sd_listen_fds(3)). Linux only.
 *
 * Invariant: the broker serves it only if the socket file of the home leads to it. Any program of the user could have
 * put a socket of its own at that path since systemd made ours, and could relay to ours under the name of its own.
 */
import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { socketRule } from '../../base/private/private-check.ts';
import type { PeerReader } from '../peer/peer.ts';
import { connectTo, maxQueue } from '../wire/socket.ts';
import type { After } from '../wire/timer.ts';

const firstPassed = 3;

/** The descriptor that was passed to the process `pid`, if one was. Throws `invalid_request` for more than one. */
export function passedDescriptor(
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
): number | undefined {
  // A child inherits the variables of its parent, but not the descriptors.
  if (env['LISTEN_PID'] !== String(pid)) return undefined;
  if (env['LISTEN_FDS'] === '1') return firstPassed;
  throw new KeyturnError(
    'invalid_request',
    `systemd passed ${quoted(env['LISTEN_FDS'] ?? '')} sockets to the broker, which takes one.`,
    { hint: 'Leave one ListenStream= in the socket unit.' },
  );
}

interface PassedSocket {
  /** Name of the socket, as `listenAt` gives it. */
  readonly socketId: string;
  /** Connections that apps made before; nothing was read from them. */
  readonly early: readonly Socket[];
}

interface PassedDescriptor {
  readonly fd: number;
  /** Where apps look for the socket. */
  readonly path: string;
  readonly readPeer: PeerReader;
  readonly after: After;
}

/** Milliseconds for a connection to ourselves, which passes through no other process. */
const ownConnection = 2000;

/**
 * Listens on the passed descriptor. `server` must pause its connections. Throws `socket_unsafe` if a connection to
 * the path doesn't arrive here.
 */
export async function listenOnPassed(
  server: Server,
  { fd, path, readPeer, after }: PassedDescriptor,
): Promise<PassedSocket> {
  await listenOn(server, fd);
  const early: Socket[] = [];
  const arrived = Promise.withResolvers<void>();
  const receive = (socket: Socket): void => {
    if (isOwn(socket, readPeer)) {
      socket.destroy();
      arrived.resolve();
    } else early.push(socket);
  };
  server.on('connection', receive);
  const late = new Error('a connection to the path arrived somewhere else');
  const cancel = after(ownConnection, () => arrived.reject(late));
  const connected = connectTo(path);
  try {
    const [{ socketId }] = await Promise.all([connected, arrived.promise]);
    return { socketId, early };
  } catch (error) {
    for (const socket of early) socket.destroy();
    server.close();
    throw new KeyturnError('socket_unsafe', `${quoted(path)} isn't the socket that systemd passed`, {
      rule: socketRule,
      hint: `The socket unit needs ListenStream=${path}, SocketMode=0600 and DirectoryMode=0700. If it has them, somebody replaced the file: systemctl --user restart keyturn.socket`,
      cause: error,
    });
  } finally {
    cancel();
    connected.then(
      ({ socket }) => socket.destroy(),
      () => undefined,
    );
    server.off('connection', receive);
  }
}

async function listenOn(server: Server, fd: number): Promise<void> {
  server.listen({ fd, backlog: maxQueue });
  await once(server, 'listening').catch((error: unknown) => {
    throw new KeyturnError('socket_unsafe', 'nothing can listen on the descriptor that systemd passed', {
      hint: 'The socket unit must have one ListenStream=, with the path of the socket.',
      cause: error,
    });
  });
}

/** The kernel says which process connected: no other process can pass for this one. */
function isOwn(socket: Socket, readPeer: PeerReader): boolean {
  try {
    const peer = readPeer(socket);
    return peer.kind === 'verified' && peer.pid === process.pid;
  } catch {
    return false;
  }
}
