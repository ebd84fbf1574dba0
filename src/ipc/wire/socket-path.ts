/**
 * Where the socket of a home is.
 *
 * Invariant: broker and client find the same path, even if their environments differ: a path that depends on the
 * environment is recorded in the home. On Windows it is the name of a pipe (pipe.ts), which depends on the home alone.
 */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import path from 'node:path';

import { KeyturnError, quoted } from '../../base/errors.ts';
import type { HomePaths } from '../../base/paths.ts';
import { checkFolder, prepareFolder } from '../../base/private-folder.ts';
import { systemCode } from '../../base/system-error.ts';
import { pipeName } from './pipe.ts';

/** Bytes of a socket's path: macOS has room for 104 with the closing NUL, Linux for 108. */
const maxSocketPathLength = 103;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The path that a broker of this home listens on. Where `<run>/broker.sock` is too long for the
 * kernel, a hashed name in a folder of the user's. Throws `socket_unsafe` if that is too long too.
 */
export function socketPath(paths: HomePaths, env: Environment = process.env): string {
  return pathFor(path.join(paths.run, 'broker.sock'), env, fits);
}

/**
 * The path for a socket of its own beside the home's, by the same rule, and made of characters that `ssh -R` takes as they
 * stand. Makes and checks its folder. Throws `socket_unsafe`.
 */
export function prepareForwardSocket(paths: HomePaths, name: string, env: Environment): string {
  const isUsable = (socket: string): boolean => fits(socket) && /^[\w./@+~-]+$/.test(socket);
  const socket = pathFor(path.join(paths.run, name), env, isUsable);
  prepareFolder(path.dirname(socket));
  return socket;
}

/** Throws `socket_unsafe` for a path that the kernel has no room for. */
export function requireSocketLength(socket: string): void {
  if (fits(socket)) return;
  throw new KeyturnError('socket_unsafe', `${quoted(socket)} is longer than ${maxSocketPathLength} bytes`, {
    rule: 'The kernel takes no longer path for a socket',
    hint: 'Choose a shorter path.',
  });
}

/** `direct`, or a hashed name in a folder of the user's. */
function pathFor(direct: string, env: Environment, isUsable: (socket: string) => boolean): string {
  if (isUsable(direct)) return direct;
  const runtime = env['XDG_RUNTIME_DIR'];
  const home = env['HOME'];
  const folders = [
    ...(runtime && path.isAbsolute(runtime) ? [path.join(runtime, 'keyturn')] : []),
    ...(home && path.isAbsolute(home) ? [path.join(home, '.local', 'state', 'keyturn', 'run')] : []),
  ];
  // 16 hex digits: 64 bits keep two homes of one user apart, and leave the path short.
  const name = `${createHash('sha256').update(direct).digest('hex').slice(0, 16)}.sock`;
  const found = folders.map((folder) => path.join(folder, name)).find(isUsable);
  if (found) return found;
  throw new KeyturnError(
    'socket_unsafe',
    fits(direct)
      ? `${quoted(direct)} has characters that ssh would not take as they stand`
      : `the path of the socket is longer than ${maxSocketPathLength} bytes`,
    {
      hint: 'Set KEYTURN_HOME to a folder with a shorter path, of letters, digits and `.`, `_`, `-`.',
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
  if (process.platform === 'win32') return pipeName(paths.run);
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
  if (process.platform === 'win32') return pipeName(paths.run);
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
