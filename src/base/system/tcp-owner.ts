/**
 * Which user owns the other end of a TCP connection on this machine (Linux).
 *
 * Every user of the machine can connect to a port on loopback. The kernel's table of connections says which user did.
 *
 * Invariant: an answer of `own` is proven, never assumed.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type { Socket } from 'node:net';

export interface Connection {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort: number;
}

const tables = ['/proc/net/tcp', '/proc/net/tcp6'];

function userAt(connection: Connection): number | undefined {
  for (const table of tables) {
    for (const rows of piecesOf(table)) {
      const found = userIn(rows, connection);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

/** `unknown`: this system doesn't say which user connected. */
export type PeerOwner = 'own' | 'other' | 'unknown';

/** On Linux a connection without a row counts as another user's. */
export function ownerOfPeer(socket: Ends, uid = process.getuid?.()): PeerOwner {
  const { remoteAddress, remotePort, localPort } = socket;
  if (remoteAddress === undefined || remotePort === undefined || localPort === undefined) return 'other';
  if (process.platform !== 'linux') return 'unknown';
  const user = userAt({ remoteAddress, remotePort, localPort });
  return user !== undefined && user === uid ? 'own' : 'other';
}

/** The user of the row whose local end is the peer's. */
export function userIn(
  rows: string,
  { remotePort, localPort, remoteAddress }: Connection,
): number | undefined {
  const peerPort = `:${hexPort(remotePort)} `;
  for (const line of rows.split('\n')) {
    // To take a line apart costs more than all else here, and a busy machine has thousands of them.
    if (!line.includes(peerPort)) continue;
    const [, local, remote, , , , , uid] = line.trim().split(/\s+/);
    if (!local || !remote || uid === undefined) continue;
    if (!local.endsWith(`:${hexPort(remotePort)}`) || !remote.endsWith(`:${hexPort(localPort)}`)) continue;
    // Both addresses count, because a connection to another loopback address may have the same ports.
    if (isLoopback(local, remoteAddress) && isLoopback(remote, remoteAddress)) return Number(uid);
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

/** Bytes: the kernel answers one page at a time. */
const pageSize = 4096;

/**
 * Whole rows of a table, a page at a time: the kernel writes each row when it is asked for it, so a search that ends
 * early spares the rest. Ends where the table can't be read.
 */
function* piecesOf(table: string): Generator<string> {
  let file: number | undefined;
  try {
    file = openSync(table, 'r');
    const page = Buffer.allocUnsafe(pageSize);
    let cut = '';
    for (let length = readSync(file, page); length > 0; length = readSync(file, page)) {
      const text = cut + page.toString('latin1', 0, length);
      const end = text.lastIndexOf('\n') + 1;
      yield text.slice(0, end);
      cut = text.slice(end);
    }
  } catch {
    // Without a row nobody is shown to be the user's own.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
