/**
 * Where the socket of a home is.
 *
 * Invariant: broker and client find the same path, even if their environments differ: the broker records in the home
 * where it listens. On Windows it is the name of a pipe (pipe.ts), which depends on the home alone.
 */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import path from 'node:path';
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { Environment, HomePaths } from '../../base/paths.ts';
import { checkPrivate, socketRule } from '../../base/private/private-check.ts';
import { replaceFileAtOnce } from '../../base/private/private-file.ts';
import { lookAt, prepareFolder } from '../../base/private/private-folder.ts';
import { homeCapability } from './capabilities.ts';
import { isPipe, pipeName } from './pipe.ts';

/** Bytes of a socket's path: macOS has room for 104 with the closing NUL, Linux for 108. */
const maxSocketPathLength = 103;

/**
 * Where a broker of this home may listen, the best first: in its run folder; where that is one of the login session's,
 * also in the state folder, which outlives the session. Where each is too long for the kernel, under a hashed name in
 * a folder of the user's. Throws `socket_unsafe` if that is too long too.
 */
export function socketPlaces(paths: HomePaths, env: Environment = process.env): [string, ...string[]] {
  if (process.platform === 'win32') return [pipeName(paths.run)];
  return placesFor(paths, 'broker.sock', env, fits);
}

/**
 * The path for a socket of its own beside the home's, by the same rule, and made of characters that `ssh -R` takes as they
 * stand. Makes and checks its folder. Throws `socket_unsafe`.
 */
export function prepareForwardSocket(paths: HomePaths, name: string, env: Environment): string {
  const isUsable = (socket: string): boolean => fits(socket) && /^[\w./@+~-]+$/.test(socket);
  return firstPrepared(placesFor(paths, name, env, isUsable), env);
}

/** Throws `socket_unsafe` for a path that the kernel has no room for. */
export function requireSocketLength(socket: string): void {
  if (fits(socket)) return;
  throw new KeyturnError('socket_unsafe', `${quoted(socket)} is longer than ${maxSocketPathLength} bytes`, {
    rule: 'The kernel takes no longer path for a socket',
    hint: 'Choose a shorter path.',
  });
}

function placesFor(
  { run, state }: HomePaths,
  name: string,
  env: Environment,
  isUsable: (socket: string) => boolean,
): [string, ...string[]] {
  const direct = path.join(run, name);
  const runtime = runtimeFolder(env);
  const [first, ...others] = [direct, ...(run === runtime ? [path.join(state, 'run', name)] : [])].filter(
    isUsable,
  );
  if (first !== undefined) return [first, ...others];
  const { HOME: home, TMPDIR: temporary } = env;
  const isPlace = (folder: string | undefined): folder is string => !!folder && path.isAbsolute(folder);
  const folders = [
    ...(runtime === undefined ? [] : [runtime]),
    ...[home].filter(isPlace).map((folder) => path.join(folder, '.local', 'state', 'keyturn', 'run')),
    // The home is deep in a sandbox or a workspace. A folder of another user is refused there, as everywhere.
    ...[temporary, '/tmp']
      .filter(isPlace)
      .map((folder) => path.join(folder, `keyturn-${process.getuid?.()}`)),
  ];
  // 16 hex digits: 64 bits keep two homes of one user apart, and leave the path short.
  const hashed = `${createHash('sha256').update(direct).digest('hex').slice(0, 16)}.sock`;
  const [short, ...further] = folders.map((folder) => path.join(folder, hashed)).filter(isUsable);
  if (short !== undefined) return [short, ...further];
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

/** Keyturn's folder in the one that the login session has for sockets. */
function runtimeFolder(env: Environment): string | undefined {
  const runtime = env['XDG_RUNTIME_DIR'];
  return runtime && path.isAbsolute(runtime) ? path.join(runtime, 'keyturn') : undefined;
}

function fits(socket: string): boolean {
  return Buffer.byteLength(socket) <= maxSocketPathLength;
}

/** The first place whose folder is there, or can be made, and is the user's alone. Throws the last place's refusal. */
function firstPrepared(places: readonly string[], env: Environment): string {
  let refusal: unknown;
  for (const place of places) {
    try {
      preparePlace(place, env);
      return place;
    } catch (error) {
      refusal = error;
    }
  }
  throw refusal;
}

/** Makes and checks the folder of a place to listen at. Throws `socket_unsafe` or `file_unreadable`. */
export function preparePlace(socket: string, env: Environment): void {
  if (isPipe(socket)) return;
  const folder = path.dirname(socket);
  if (folder === runtimeFolder(env)) requireOwnRuntime(path.dirname(folder));
  prepareFolder(folder);
}

/**
 * XDG Base Directory Specification: XDG_RUNTIME_DIR must be the user's, and only the user may write there. After `su`,
 * it may be another user's.
 */
export function requireOwnRuntime(folder: string): void {
  const uid = process.getuid?.();
  let problem = 'is no folder';
  try {
    const found = lookAt(folder);
    if (!found || uid === undefined) return;
    if (found.isDirectory() && found.uid === BigInt(uid) && (found.mode & 0o022n) === 0n) return;
    if (found.isDirectory())
      problem = `is not a folder that only you may write to (its owner is user ${found.uid})`;
  } catch {
    // A part of its path is a file, or closed to us.
  }
  throw new KeyturnError('socket_unsafe', `${quoted(folder)}, which XDG_RUNTIME_DIR names, ${problem}`, {
    rule: socketRule,
    hint: 'Unset XDG_RUNTIME_DIR, or set it to a folder of your own. Until then the socket is in the state folder.',
  });
}

/** Holds the path of the socket that the last broker of this home listened on, whatever its environment was. */
function recordPath(paths: HomePaths): string {
  return path.join(paths.state, 'broker.path');
}

/** Tells clients in other environments where the broker listens. Throws `file_unreadable`. */
export function recordSocket(paths: HomePaths, socket: string): void {
  if (isPipe(socket) || recordedSocket(paths) === socket) return;
  replaceFileAtOnce(recordPath(paths), `${socket}\n`);
}

/** Undefined: no broker has recorded one, or the record isn't the user's own file, with a path in it. */
export function recordedSocket(paths: HomePaths): string | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = fs.openSync(
      recordPath(paths),
      fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK,
    );
    const found = fs.fstatSync(descriptor, { bigint: true });
    checkPrivate(found, recordPath(paths), 'file');
    if (found.size > maxRecordLength) return undefined;
    const recorded = fs.readFileSync(descriptor, 'utf8').trimEnd();
    return path.isAbsolute(recorded) && fits(recorded) && !recorded.includes('\0') ? recorded : undefined;
  } catch {
    // It only saves a search: a process that listens elsewhere has to prove itself all the same.
    return undefined;
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

/** Bytes: a path and the end of its line. */
const maxRecordLength = BigInt(maxSocketPathLength + 2);

/** Where a client looks for the socket. */
export interface SocketSearch {
  /** Where the broker of this home may listen, to be tried in this order. */
  readonly places: readonly string[];
  /** The first place is the one that a broker of this home recorded. What listens elsewhere may be another home's. */
  readonly isRecorded: boolean;
  /** What the broker of this home says of it (capabilities.ts). Absent: any home's broker will do. */
  readonly home?: readonly string[];
}

/** Throws `socket_unsafe` where every path is too long. */
export function findSockets(paths: HomePaths, env: Environment = process.env): SocketSearch {
  const recorded = process.platform === 'win32' ? undefined : recordedSocket(paths);
  const home = homeCapability(paths);
  if (recorded === undefined) return { places: socketPlaces(paths, env), isRecorded: false, home };
  return { places: [...new Set([recorded, ...placesIfAny(paths, env)])], isRecorded: true, home };
}

function placesIfAny(paths: HomePaths, env: Environment): readonly string[] {
  try {
    return socketPlaces(paths, env);
  } catch {
    return [];
  }
}
