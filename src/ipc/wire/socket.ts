/**
 * Listening on the socket of a home, and connecting to it.
 *
 * Invariant: folder 0700 and socket 0600, both the user's, no symbolic links. Anything else is refused with the
 * command that fixes it. Nothing here repairs a mode by itself, because a wrong one means that somebody else may have
 * been there. On Windows a named pipe takes the socket's place (pipe.ts).
 */
import type { BigIntStats } from 'node:fs';
import { once } from 'node:events';
import * as fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyturnError, quoted, shellWord, Unreachable } from '../../base/errors.ts';
import { checkPrivate, socketRule } from '../../base/private/private-check.ts';
import { belowFile, checkFolder, lookAt, notThere, startHint } from '../../base/private/private-folder.ts';
import { systemCode } from '../../base/system-error.ts';
import { connectToPipe, isPipe, listenAtPipe, pipeId } from './pipe.ts';

/** How both ends name the socket between them: a relay on another socket has another name. */
export function nameOf(found: BigIntStats): string {
  return `unix:${found.dev}:${found.ino}`;
}

/** The name of the socket at this path. Throws `broker_unreachable` or `socket_unsafe`. */
export function socketIdOf(socket: string): string {
  if (isPipe(socket)) return pipeId(socket);
  const found = lookAt(socket);
  if (!found) throw notThere(socket);
  checkPrivate(found, socket, 'socket');
  return nameOf(found);
}

/** Connections that wait to be accepted: the most that Linux lets a process ask for by default. */
export const maxQueue = 4096;

/**
 * Starts listening, having removed a dead broker's socket. Throws `broker_running` where somebody
 * listens, `socket_unsafe` where folder or socket is not as it must be. Returns the socket's id.
 * Two brokers that start at once are kept apart by the home's lock, not here.
 */
export async function listenAt(server: net.Server, socket: string): Promise<string> {
  if (isPipe(socket)) return listenAtPipe(server, socket);
  checkFolder(path.dirname(socket));
  await removeStale(socket);
  const listening = once(server, 'listening');
  // Node binds within this call, and would create the file 0755.
  const mask = process.umask(0o177);
  try {
    server.listen({ path: socket, backlog: maxQueue });
  } finally {
    process.umask(mask);
  }
  await listening.catch((error: unknown) => {
    if (systemCode(error) === 'EADDRINUSE') throw running(socket);
    throw new KeyturnError('socket_unsafe', `nothing can listen on ${quoted(socket)}`, {
      hint: 'Look at its folder: it must be on a local file system that you may write to.',
      cause: error,
    });
  });
  return socketIdOf(socket);
}

/** Removes a dead broker's socket. Throws `broker_running` where somebody listens, and `socket_unsafe`. */
export async function removeStale(socket: string): Promise<void> {
  const found = lookAt(socket);
  if (!found) return;
  checkPrivate(found, socket, 'socket');
  if (await answers(socket)) throw running(socket);
  fs.rmSync(socket, { force: true });
}

function running(socket: string): KeyturnError {
  return new KeyturnError('broker_running', `a broker already listens on ${quoted(socket)}`, {
    hint: 'Use that one, or stop it first. If systemd listens there: systemctl --user stop keyturn.socket',
  });
}

/** False only when the kernel says that nobody listens. Throws `socket_unsafe` on any other failure. */
async function answers(socket: string): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const probe = net.connect(socket);
  probe.once('connect', () => resolve(true));
  probe.once('error', (error) => {
    const code = systemCode(error);
    if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(false);
    // The queue of a busy broker is full: it lives.
    else if (code === 'EAGAIN') resolve(true);
    else reject(foreign(socket, error));
  });
  return promise.finally(() => probe.destroy());
}

/** A socket of another type (EPROTOTYPE), say: not ours, so never removed. */
function foreign(socket: string, error: Error): KeyturnError {
  return new KeyturnError('socket_unsafe', `${quoted(socket)} is a socket that no broker made`, {
    rule: socketRule,
    hint: `Find out which program made it, then remove it: rm ${shellWord(socket)}`,
    cause: error,
  });
}

/** A connection, and the name of the very socket it was made to. */
export interface ConnectedSocket {
  readonly socket: net.Socket;
  readonly socketId: string;
}

/**
 * Connects to a socket that was checked, and to no other. Throws `broker_unreachable` where nobody
 * listens, `socket_unsafe` where folder or socket is not as it must be.
 */
export async function connectTo(socket: string): Promise<ConnectedSocket> {
  if (isPipe(socket)) return { socket: await connectToPipe(socket), socketId: pipeId(socket) };
  checkFolder(path.dirname(socket));
  return process.platform === 'linux' ? connectPinned(socket) : connectCompared(socket);
}

/** Linux's O_PATH, which Node doesn't name: the same number on every architecture Node runs on. */
const O_PATH = 0o10000000;

/** Linux: the descriptor pins the file, so that nobody can put another socket there in between. */
async function connectPinned(socket: string): Promise<ConnectedSocket> {
  const fd = pin(socket);
  try {
    const found = fs.fstatSync(fd, { bigint: true });
    checkPrivate(found, socket, 'socket');
    return { socket: await dial(`/proc/self/fd/${fd}`, socket), socketId: nameOf(found) };
  } finally {
    fs.closeSync(fd);
  }
}

function pin(socket: string): number {
  try {
    return fs.openSync(socket, O_PATH | fs.constants.O_NOFOLLOW);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') throw notThere(socket);
    if (systemCode(error) === 'ENOTDIR') throw belowFile(socket);
    throw new Unreachable('broker_unreachable', `${quoted(socket)} can't be opened`, { cause: error });
  }
}

/** Elsewhere: the file must be the same before and after. */
async function connectCompared(socket: string): Promise<ConnectedSocket> {
  const before = socketIdOf(socket);
  const connection = await dial(socket, socket);
  const found = lookAt(socket);
  if (found && nameOf(found) === before) return { socket: connection, socketId: before };
  connection.destroy();
  throw new KeyturnError('socket_unsafe', `${quoted(socket)} was replaced while connecting to it`, {
    rule: socketRule,
    hint: 'Try again; if it happens twice, find out which program writes there.',
  });
}

/** Tries for a place in the queue of a busy broker, and milliseconds between two: a second in all. */
const maxTries = 40;
const tryAgainAfter = 25;

async function dial(target: string, shownAs: string): Promise<net.Socket> {
  for (let left = maxTries - 1; ; left -= 1) {
    try {
      return await dialOnce(target, shownAs);
    } catch (error) {
      // EAGAIN: the broker lives, and its queue is full (unix(7)); nothing else passes by itself.
      const isBusy = error instanceof Unreachable && systemCode(error.cause) === 'EAGAIN';
      if (!isBusy || left === 0) throw error;
      await sleep(tryAgainAfter);
    }
  }
}

/** Bytes that are read at once: any answer but a long list. */
const readSize = 16 * 1024;

/**
 * Reads into one buffer for the whole connection, and passes each chunk on as a copy. Without that, Node takes another
 * 64 KB for each read, which costs a sixth of a request.
 */
function connectionTo(target: string): net.Socket {
  const buffer = Buffer.allocUnsafeSlow(readSize);
  // False stops the reading until somebody takes what came.
  const callback = (length: number): boolean => connection.push(Buffer.from(buffer.subarray(0, length)));
  const connection: net.Socket = net.connect({ path: target, onread: { buffer, callback } });
  return connection;
}

async function dialOnce(target: string, shownAs: string): Promise<net.Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<net.Socket>();
  const connection = connectionTo(target);
  connection.once('connect', () => resolve(connection));
  connection.once('error', (error) => {
    const refused = systemCode(error) === 'ECONNREFUSED';
    reject(
      new Unreachable(
        'broker_unreachable',
        refused
          ? `no broker listens on ${quoted(shownAs)}`
          : `${quoted(shownAs)} does not accept connections`,
        { hint: startHint, cause: error },
      ),
    );
  });
  return promise.finally(() => connection.removeAllListeners('error'));
}
