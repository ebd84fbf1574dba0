/**
 * Finds the broker and the key, and connects: as an app, or as the owner for our own CLI.
 *
 * Invariant: a missing broker or key is an error: nothing here starts a process by itself, or pairs.
 */
import path from 'node:path';
import { KeyturnError, Unreachable } from '../base/errors.ts';
import { forwardedSocket } from '../ipc/wire/forwarded.ts';
import { findSockets, type SocketSearch } from '../ipc/wire/socket-path.ts';
import { type Identity, ownerId } from '../ipc/wire/handshake-messages.ts';
import { type HomePaths, homePaths, ownerKeyFile } from '../base/paths.ts';
import { requireRuntime } from '../base/runtime.ts';
import { type Connection, openConnection } from './connection.ts';
import { appKeyFile, readAppKeyFile } from './app-key-file.ts';

export interface HomeLocation {
  /** The environment that names the home; the process's own unless given. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The home's folders; from `env` unless given. */
  readonly paths?: HomePaths;
}

export interface ConnectOptions extends HomeLocation {
  /** The name this program was paired under: its key is read from the home. */
  readonly name?: string;
  /** Or the identity itself, from a store of the app's own. */
  readonly key?: Identity;
}

interface BrokerPlace {
  /** The folders of the home; of a forward, folders of its own in them. */
  readonly paths: HomePaths;
  /** Throws `socket_unsafe`. */
  readonly socket: () => SocketSearch;
  /** How both ends name the socket, where that isn't the file that it is. */
  readonly socketId?: string;
}

/**
 * Where a home's folders and socket are; where KEYTURN_SOCKET names a forward, its socket, with folders for the keys
 * and questions of this machine. Throws `invalid_request` for a KEYTURN_SOCKET that names none.
 */
export function locate(place: HomeLocation = {}): BrokerPlace {
  requireRuntime('@keyturn/client');
  const env = place.env ?? process.env;
  const paths = place.paths ?? homePaths(env);
  const forwarded = forwardedSocket(env);
  if (!forwarded) return { paths, socket: () => findSockets(paths, env) };
  const { name, socket, socketId } = forwarded;
  const below = (folder: string): string => path.join(folder, 'forwarded', name);
  const own = { config: below(paths.config), state: below(paths.state), run: below(paths.run) };
  return { paths: own, socket: () => ({ places: [socket], isRecorded: true }), socketId };
}

/**
 * Connects as a paired app. Throws `unpaired`, `file_unreadable`, `broker_unreachable`,
 * `socket_unsafe`, `handshake_failed`, `locked`.
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  return connectStarting(options);
}

/** As `connect`, for one of our commands. Where no broker runs, now or later, it calls `startBroker`. */
export async function connectStarting(
  options: ConnectOptions,
  startBroker?: () => Promise<void>,
): Promise<Connection> {
  const { paths, socket, socketId } = locate(options);
  const identity = options.key ?? readAppKeyFile(appKeyFile(paths, options.name ?? missingName()));
  if (socketId === undefined) return openConnection({ identity, socket, startBroker });
  try {
    // Only the machine at the other end can start its broker.
    return await openConnection({ identity, socket, socketId });
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    throw new Unreachable(error.reason, error.message, {
      hint: 'The forward has ended, or its machine is asleep. Open it again there: keyturn forward open',
      cause: error.cause,
    });
  }
}

/** Connects with the owner's key: sees and narrows everything. For the command line only. */
export async function connectAsOwner(place: HomeLocation = {}): Promise<Connection> {
  const { paths, socket, socketId } = locate(place);
  if (socketId !== undefined)
    throw new KeyturnError('not_permitted', 'This command is for the machine where the broker runs.', {
      rule: 'A forward serves tokens of the named servers; everything else stays on the machine of the broker',
      hint: 'Run it there. Here, with KEYTURN_SOCKET set, these work: token, connect, bridge, headers, exec.',
    });
  const identity = readAppKeyFile(ownerKeyFile(paths));
  if (identity.appId !== ownerId)
    throw new KeyturnError('file_unreadable', "the owner's key file holds another app's key");
  try {
    // Commands start a broker themselves.
    return await openConnection({ identity, socket, waitsForRestart: false });
  } catch (error) {
    // A broker that only took too long is no strange one.
    if (!(error instanceof KeyturnError) || error instanceof Unreachable) throw error;
    throw error.reason === 'handshake_failed' ? strangeBroker(error, paths) : error;
  }
}

/** The owner's key can't be paired again: a file of the home was exchanged, or another program listens there. */
function strangeBroker({ message }: KeyturnError, { config }: HomePaths): KeyturnError {
  return new KeyturnError('handshake_failed', message, {
    rule: 'Keyturn wire protocol, Handshake: an app sends nothing but its hello before the broker has proved who it is',
    hint:
      `If ${config}/owner.key was exchanged or deleted, end the broker (keyturn broker stop; where that says the same, ` +
      'end its process with a signal), then put the file back, or move it away: the next start makes a new one. ' +
      'Else find out which program listens on the socket.',
  });
}

function missingName(): never {
  throw new KeyturnError('invalid_request', 'connect needs the name of a paired app, or its key');
}
