/**
 * The named pipe that stands in for the socket on Windows.
 *
 * Invariant: the name follows from the user and the home's run folder, so broker and client find it without a file. The
 * broker keeps other users from it (ipc/server/listener.ts). Until then the system's default rights hold: others may read
 * from it and never write, and the broker sends nothing before the other end wrote. Node shows no handle of a pipe, so
 * neither end learns the other's process: only the handshake tells who is there.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { userInfo } from 'node:os';
import path from 'node:path';
import { KeyturnError, quoted, Unreachable } from '../../base/errors.ts';
import { startHint } from '../../base/private/private-folder.ts';
import { systemCode } from '../../base/system-error.ts';

const prefix = '\\\\.\\pipe\\';

export const isPipe = (socket: string): boolean => socket.startsWith(prefix);

/** The pipe of the home whose folder of the socket this is. Windows compares paths without regard to case. */
export function pipeName(runFolder: string, user = userInfo().username): string {
  const home = path.win32.normalize(runFolder).toLowerCase();
  // 32 hex digits: 128 bits, so that nobody finds a second folder with the same name.
  const hash = createHash('sha256')
    .update(JSON.stringify([user.toLowerCase(), home]))
    .digest('hex');
  return `${prefix}keyturn-${hash.slice(0, 32)}`;
}

/** How both ends name the pipe between them: a relay has another name. */
export function pipeId(pipe: string): string {
  return `pipe:${pipe.slice(prefix.length)}`;
}

/**
 * Starts listening. Throws `broker_running` where another process has this pipe, `socket_unsafe` where none can be
 * made. The home's lock keeps two brokers apart that start at once.
 */
export async function listenAtPipe(server: net.Server, pipe: string): Promise<string> {
  if (await answers(pipe)) throw running(pipe);
  server.listen({ path: pipe });
  await once(server, 'listening').catch((error: unknown) => {
    if (systemCode(error) === 'EADDRINUSE') throw running(pipe);
    throw new KeyturnError('socket_unsafe', `nothing can listen on ${quoted(pipe)}`, { cause: error });
  });
  return pipeId(pipe);
}

function running(pipe: string): KeyturnError {
  return new KeyturnError('broker_running', `a program already listens on ${quoted(pipe)}`, {
    hint: 'If it is a broker, use it or end it with: keyturn broker stop',
  });
}

async function answers(pipe: string): Promise<boolean> {
  try {
    (await connectToPipe(pipe)).destroy();
    return true;
  } catch {
    return false;
  }
}

/** Throws `broker_unreachable` where nobody listens. */
export async function connectToPipe(pipe: string): Promise<net.Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<net.Socket>();
  const connection = net.connect(pipe);
  connection.once('connect', () => resolve(connection));
  connection.once('error', (error) => {
    const problem = systemCode(error) === 'ENOENT' ? 'no broker listens on' : 'no connection can be made to';
    reject(
      new Unreachable('broker_unreachable', `${problem} ${quoted(pipe)}`, { hint: startHint, cause: error }),
    );
  });
  return promise.finally(() => connection.removeAllListeners('error'));
}
