/**
 * Which user owns the other end of a TCP connection on this machine (Linux).
 *
 * The loopback redirect is open to every user of the machine while a sign-in runs; the kernel's
 * table tells whose browser calls. Invariant: an answer of `own` is proven, never assumed.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';

export interface Connection {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort: number;
}

export type PeerOwner = 'own' | 'other' | 'unknown';

const tables = ['/proc/net/tcp', '/proc/net/tcp6'];

/** `unknown` where the system has no such table (not Linux) or no row for the connection. */
export function ownerOf(connection: Connection, uid = process.getuid?.()): PeerOwner {
  if (process.platform !== 'linux' || uid === undefined) return 'unknown';
  for (const table of tables) {
    const found = uidIn(readTable(table), connection);
    if (found !== undefined) return found === uid ? 'own' : 'other';
  }
  return 'unknown';
}

/** `untold`: this system doesn't say whose browser asks. */
export type BrowserOwner = 'own' | 'other' | 'untold';

/** On Linux a connection without a row is nobody's that we know. */
export function ownerOfBrowser({ socket }: Pick<IncomingMessage, 'socket'>): BrowserOwner {
  const { remoteAddress, remotePort, localPort } = socket;
  if (remoteAddress === undefined || remotePort === undefined || localPort === undefined) return 'other';
  const owner = ownerOf({ remoteAddress, remotePort, localPort });
  if (owner !== 'unknown') return owner;
  return process.platform === 'linux' ? 'other' : 'untold';
}

/** The uid column of the row whose local end is the peer's, i.e. the peer's own socket. */
export function uidIn(
  table: string,
  { remotePort, localPort, remoteAddress }: Connection,
): number | undefined {
  for (const line of table.split('\n').slice(1)) {
    const [, local, remote, , , , , uid] = line.trim().split(/\s+/);
    if (!local || !remote || uid === undefined) continue;
    if (!local.endsWith(`:${hexPort(remotePort)}`) || !remote.endsWith(`:${hexPort(localPort)}`)) continue;
    // Both ends: a connection to another loopback address may share the ports.
    if (isLoopback(local, remoteAddress) && isLoopback(remote, remoteAddress)) return Number(uid);
  }
  return undefined;
}

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');

/** The kernel prints addresses as little-endian words; loopback is all we ever look for. */
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
