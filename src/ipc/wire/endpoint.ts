/**
 * Where the socket lies, and what must be true of it before anyone listens or speaks there.
 *
 * Invariant: folder 0700 and socket 0600, both the user's, no symbolic links. Anything else is
 * refused with the command that mends it; nothing here repairs a mode by itself, because a wrong one
 * means that somebody else may have been there.
 */
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import * as fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { KeyturnError, quoted, shellWord, Unreachable } from '../../base/errors.ts';
import type { HomePaths } from '../../base/paths.ts';
import { checkPrivate, socketRule } from '../../base/private-file.ts';
import { systemCode } from '../../base/system-error.ts';

/** Bytes of a socket's path: macOS has room for 104 with the closing NUL, Linux for 108. */
const maxSocketPathLength = 103;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The path that a broker of this home listens on. Where `<run>/broker.sock` is too long for the
 * kernel, a hashed name in a folder of the user's. Throws `socket_unsafe` if that is too long too.
 */
export function socketPath(paths: HomePaths, env: Environment = process.env): string {
  const direct = path.join(paths.run, 'broker.sock');
  if (fits(direct)) return direct;
  const runtime = env['XDG_RUNTIME_DIR'];
  const home = env['HOME'];
  const folders = [
    ...(runtime && path.isAbsolute(runtime) ? [path.join(runtime, 'keyturn')] : []),
    ...(home && path.isAbsolute(home) ? [path.join(home, '.local', 'state', 'keyturn', 'run')] : []),
  ];
  // 16 hex digits: 64 bits keep two homes of one user apart, and leave the path short.
  const name = `${createHash('sha256').update(direct).digest('hex').slice(0, 16)}.sock`;
  const found = folders.map((folder) => path.join(folder, name)).find(fits);
  if (found) return found;
  throw new KeyturnError(
    'socket_unsafe',
    `the path of the socket is longer than ${maxSocketPathLength} bytes`,
    {
      hint: 'Set KEYTURN_HOME to a folder with a shorter path.',
    },
  );
}

function fits(socket: string): boolean {
  return Buffer.byteLength(socket) <= maxSocketPathLength;
}

/** Holds the socket's path where that isn't `<run>/broker.sock`: a client's environment may differ. */
function recordPath(paths: HomePaths): string {
  return path.join(paths.run, 'broker.path');
}

/**
 * The broker's side of FIND: makes and checks the folders, records a hashed path in the home, and
 * returns where to listen. Throws `socket_unsafe`.
 */
export function prepareSocket(paths: HomePaths, env: Environment = process.env): string {
  const socket = socketPath(paths, env);
  prepareFolder(paths.run);
  if (path.dirname(socket) !== paths.run) {
    prepareFolder(path.dirname(socket));
    recordSocket(recordPath(paths), socket);
  }
  return socket;
}

/** The client's side of FIND. Throws `broker_unreachable`, `socket_unsafe` or `file_unreadable`. */
export function findSocket(paths: HomePaths, env: Environment = process.env): string {
  const direct = path.join(paths.run, 'broker.sock');
  if (fits(direct)) return direct;
  checkFolder(paths.run);
  const recorded = readRecord(recordPath(paths)) ?? socketPath(paths, env);
  if (path.isAbsolute(recorded) && fits(recorded)) return recorded;
  throw new KeyturnError(
    'file_unreadable',
    `${quoted(recordPath(paths))} does not hold the path of a socket`,
    {
      hint: 'Restart the broker; it writes the file anew.',
    },
  );
}

function recordSocket(record: string, socket: string): void {
  const next = `${record}.${process.pid}`;
  fs.rmSync(next, { force: true });
  fs.writeFileSync(next, `${socket}\n`, { mode: 0o600, flag: 'wx' });
  fs.renameSync(next, record);
}

function readRecord(record: string): string | undefined {
  try {
    return fs.readFileSync(record, 'utf8').trimEnd();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw new KeyturnError('file_unreadable', `${quoted(record)} can't be read`, { cause: error });
  }
}

/** Makes a folder of the user's (0700) if there is none, then checks it. Throws `socket_unsafe`. */
export function prepareFolder(folder: string): void {
  try {
    makeFolder(folder);
  } catch (error) {
    throw new KeyturnError('socket_unsafe', `the folder ${quoted(folder)} can't be made`, {
      hint: hasFileAbove(error)
        ? 'A part of its path is a file, not a folder: set KEYTURN_HOME to a folder.'
        : 'Set KEYTURN_HOME to a folder that you may write to.',
      cause: error,
    });
  }
  checkFolder(folder);
}

/**
 * Makes a folder (0700) and those above it that are missing. Throws the system's error. What is there
 * already is left as it is, of any kind. Node's own `recursive` never returns where the system
 * answers ENOENT to every attempt, as below /proc.
 */
export function makeFolder(folder: string): void {
  try {
    makeOne(folder);
  } catch (error) {
    const above = path.dirname(folder);
    if (systemCode(error) !== 'ENOENT' || above === folder) throw error;
    makeFolder(above);
    makeOne(folder);
  }
}

function makeOne(folder: string): void {
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}

/** Throws `broker_unreachable` where there is no such folder, `socket_unsafe` where it isn't private. */
export function checkFolder(folder: string): void {
  const found = lookAt(folder);
  if (!found) throw notThere(folder);
  checkPrivate(found, folder, 'socketFolder');
}

function lookAt(name: string): BigIntStats | undefined {
  try {
    return fs.lstatSync(name, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (hasFileAbove(error)) throw belowFile(name);
    throw new KeyturnError('socket_unsafe', `${quoted(name)} can't be looked at`, {
      rule: socketRule,
      cause: error,
    });
  }
}

/** How both ends name the socket between them: a relay on another socket has another name. */
function nameOf(found: BigIntStats): string {
  return `unix:${found.dev}:${found.ino}`;
}

/** The name of the socket at this path. Throws `broker_unreachable` or `socket_unsafe`. */
export function endpointId(socket: string): string {
  const found = lookAt(socket);
  if (!found) throw notThere(socket);
  checkPrivate(found, socket, 'socket');
  return nameOf(found);
}

/** Connections that wait to be accepted: the most that Linux lets a process ask for by default. */
const maxQueue = 4096;

/**
 * Starts listening, having removed a dead broker's socket. Throws `broker_running` where somebody
 * listens, `socket_unsafe` where folder or socket is not as it must be. Returns the endpoint's name.
 * Two brokers that start at once are kept apart by the home's lock, not here.
 */
export async function listenAt(server: net.Server, socket: string): Promise<string> {
  checkFolder(path.dirname(socket));
  await removeStale(socket);
  const listening = new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve();
    });
  });
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
  return endpointId(socket);
}

async function removeStale(socket: string): Promise<void> {
  const found = lookAt(socket);
  if (!found) return;
  checkPrivate(found, socket, 'socket');
  if (await answers(socket)) throw running(socket);
  fs.rmSync(socket, { force: true });
}

function running(socket: string): KeyturnError {
  return new KeyturnError('broker_running', `a broker already listens on ${quoted(socket)}`, {
    hint: 'Use that one, or stop it first.',
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
export interface Connected {
  readonly socket: net.Socket;
  readonly endpoint: string;
}

/**
 * Connects to a socket that was checked, and to no other. Throws `broker_unreachable` where nobody
 * listens, `socket_unsafe` where folder or socket is not as it must be.
 */
export async function connectTo(socket: string): Promise<Connected> {
  checkFolder(path.dirname(socket));
  return process.platform === 'linux' ? connectPinned(socket) : connectCompared(socket);
}

/** Linux's O_PATH, which Node doesn't name: the same number on every architecture Node runs on. */
const O_PATH = 0o10000000;

/** Linux: the descriptor pins the file, so that nobody can put another socket there in between. */
async function connectPinned(socket: string): Promise<Connected> {
  const fd = pin(socket);
  try {
    const found = fs.fstatSync(fd, { bigint: true });
    checkPrivate(found, socket, 'socket');
    return { socket: await dial(`/proc/self/fd/${fd}`, socket), endpoint: nameOf(found) };
  } finally {
    fs.closeSync(fd);
  }
}

function pin(socket: string): number {
  try {
    return fs.openSync(socket, O_PATH | fs.constants.O_NOFOLLOW);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') throw notThere(socket);
    if (hasFileAbove(error)) throw belowFile(socket);
    throw new Unreachable('broker_unreachable', `${quoted(socket)} can't be opened`, { cause: error });
  }
}

/** Elsewhere: the file must be the same before and after. */
async function connectCompared(socket: string): Promise<Connected> {
  const before = endpointId(socket);
  const connection = await dial(socket, socket);
  const found = lookAt(socket);
  if (found && nameOf(found) === before) return { socket: connection, endpoint: before };
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

async function dialOnce(target: string, shownAs: string): Promise<net.Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<net.Socket>();
  const connection = net.connect(target);
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

const startHint = 'Start the broker with `keyturn daemon`, or use any keyturn command: it starts one.';

function notThere(name: string): Unreachable {
  return new Unreachable('broker_unreachable', `no broker has made ${quoted(name)} yet`, { hint: startHint });
}

/** A home is a folder: below a file there never was a broker, and never will be. */
export function belowFile(name: string): Unreachable {
  return new Unreachable('broker_unreachable', `${quoted(name)} can't be: a part of its path is a file`, {
    hint: 'Set KEYTURN_HOME to a folder.',
  });
}

/** True for the system's error where a path goes through something that is no folder. */
export function hasFileAbove(error: unknown): boolean {
  return systemCode(error) === 'ENOTDIR';
}
