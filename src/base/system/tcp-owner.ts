/**
 * Which user owns the other end of a TCP connection on this machine (Linux).
 *
 * Every user of the machine can connect to a port on loopback. The kernel's table of connections says which user did.
 *
 * Invariant: an answer of `own` is proven, never assumed.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

export interface Connection {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort: number;
}

const tables = ['/proc/net/tcp', '/proc/net/tcp6'];

/** A row of the kernel's table: the peer's own socket. */
export interface SocketRow {
  readonly uid: number;
  /** Names the socket among the open files of a process. */
  readonly inode: string;
}

function rowOf(connection: Connection): SocketRow | undefined {
  if (process.platform !== 'linux') return undefined;
  for (const table of tables) {
    const found = rowIn(readTable(table), connection);
    if (found) return found;
  }
  return undefined;
}

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

/** The socket of the program that connected to this one; undefined if the kernel doesn't show it. */
export function rowOfPeer({ remoteAddress, remotePort, localPort }: Ends): SocketRow | undefined {
  if (remoteAddress === undefined || remotePort === undefined || localPort === undefined) return undefined;
  return rowOf({ remoteAddress, remotePort, localPort });
}

/** `untold`: this system doesn't say which user connected. */
export type PeerOwner = 'own' | 'other' | 'untold';

/** On Linux a connection without a row counts as another user's. */
export function ownerOfPeer(socket: Ends, uid = process.getuid?.()): PeerOwner {
  const row = rowOfPeer(socket);
  if (row) return row.uid === uid ? 'own' : 'other';
  return process.platform === 'linux' || socket.remotePort === undefined ? 'other' : 'untold';
}

/** The row whose local end is the peer's. */
export function rowIn(
  table: string,
  { remotePort, localPort, remoteAddress }: Connection,
): SocketRow | undefined {
  for (const line of table.split('\n').slice(1)) {
    const [, local, remote, , , , , uid, , inode] = line.trim().split(/\s+/);
    if (!local || !remote || uid === undefined || inode === undefined) continue;
    if (!local.endsWith(`:${hexPort(remotePort)}`) || !remote.endsWith(`:${hexPort(localPort)}`)) continue;
    // Both addresses count, because a connection to another loopback address may have the same ports.
    if (isLoopback(local, remoteAddress) && isLoopback(remote, remoteAddress))
      return { uid: Number(uid), inode };
  }
  return undefined;
}

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');

/** The kernel prints addresses as little-endian words. We only look for loopback addresses. */
function isLoopback(end: string, remoteAddress: string): boolean {
  const address = end.slice(0, end.lastIndexOf(':'));
  if (remoteAddress.includes('.')) return address === '0100007F' || address.endsWith('FFFF00000100007F');
  return address === '00000000000000000000000001000000';
}

function readTable(table: string): string {
  try {
    return readFileSync(table, 'utf8');
  } catch {
    return '';
  }
}
