/**
 * The listening sockets of the loopback redirect: one port, on 127.0.0.1 and on [::1].
 *
 * Invariant: if another program has the port on either address, it is opened on neither, so that no other program
 * receives our redirects. A connection of another user is closed as it comes, so that it takes no place. Slow and
 * silent ones are soon closed.
 */
import { randomInt } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { KeyturnError } from '../../base/errors.ts';

/**
 * A registration names its port, and the next sign-in needs it again. So the port is an unassigned one (RFC 6335 §6),
 * above the ports that Linux gives to any program automatically (32768 to 60999).
 */
const portRange = [61_000, 65_536] as const;

/** The port in our client ID metadata document: the same for every home, because the document is hosted once. */
export const documentPort = 61_417;

export const spareDocumentPort = 61_733;

/** A port for a registration of its own. Whether it is free is found out by listening. */
export function anyPort(): number {
  const port = randomInt(...portRange);
  return port === documentPort || port === spareDocumentPort ? anyPort() : port;
}

/** A port that always belongs to this hash of 32 bytes. */
export function portOfHash(hash: Buffer): number {
  const [first, end] = portRange;
  const port = first + (hash.readUInt32BE(28) % (end - first));
  return port === documentPort || port === spareDocumentPort ? port + 1 : port;
}

/** Tries to find a port that is free on both addresses. */
const portTries = 16;

/** Milliseconds for a request to arrive whole: it is one line from this very machine. */
const requestTime = 10_000;
/** Milliseconds between looks for those that take longer; Node's own 30 s would hold their places for long. */
const checkingInterval = 2000;
/** A browser opens a handful; more would only help somebody who means to fill the port. */
const maxConnections = 32;
/** Milliseconds for the last answer to be sent when the listener closes. */
const closingGrace = 2000;

/** One address: its server and the connections that have sent no request yet. */
export interface AddressListener {
  readonly server: Server;
  readonly silent: Set<Socket>;
}

/** True if another user of this machine opened this connection. */
export type IsForeign = (socket: Socket) => boolean;

export async function listenAnywhere(isForeign: IsForeign): Promise<[AddressListener, ...AddressListener[]]> {
  for (let left = portTries; ; left -= 1) {
    try {
      return await listenOn(anyPort(), isForeign);
    } catch (error) {
      if (left <= 1) throw error;
    }
  }
}

/** Throws `redirect_port_taken` if another program holds the port, or if this machine has no 127.0.0.1. */
export async function listenOn(
  port: number,
  isForeign: IsForeign,
): Promise<[AddressListener, ...AddressListener[]]> {
  const first = await listen('127.0.0.1', port, isForeign);
  try {
    return [first, ...(await listenV6(port, isForeign))];
  } catch (error) {
    await closeListener(first);
    throw error;
  }
}

/** A machine without IPv6 has no [::1]; nobody can squat there either. */
async function listenV6(port: number, isForeign: IsForeign): Promise<AddressListener[]> {
  try {
    return [await listen('::1', port, isForeign)];
  } catch (error) {
    // Another program's port is refused. With any other trouble the redirect URI's own address, 127.0.0.1, is enough.
    if (error instanceof KeyturnError && !(error instanceof AddressMissing)) throw error;
    return [];
  }
}

async function listen(host: string, port: number, isForeign: IsForeign): Promise<AddressListener> {
  // Loaded by the first sign-in: as a module it brings Node's own fetch along, 14 MB that a broker at rest doesn't need.
  const { createServer } = await import('node:http');
  const server = createServer({
    maxHeaderSize: 16_384,
    requestTimeout: requestTime,
    connectionsCheckingInterval: checkingInterval,
    keepAlive: false,
  });
  const silent = new Set<Socket>();
  let open = 0;
  server.on('connection', (socket) => {
    // Not `maxConnections`: Node counts those of other users too, until they have ended.
    if (isForeign(socket) || open === maxConnections) return void socket.destroy();
    open += 1;
    silent.add(socket);
    socket.once('close', () => {
      open -= 1;
      silent.delete(socket);
    });
  });
  server.on('request', ({ socket }) => silent.delete(socket));
  return new Promise((resolve, reject) => {
    // Never removed: an error while it listens (no more descriptors, say) must not end the process.
    server.on('error', (error: NodeJS.ErrnoException) => {
      const { code = '' } = error;
      if (/^(?:EADDRINUSE|EACCES)$/.test(code)) reject(portTaken(port));
      else reject(/^(?:EADDRNOTAVAIL|EAFNOSUPPORT)$/.test(code) ? new AddressMissing(host, code) : error);
    });
    server.listen({ host, port, exclusive: true }, () => resolve({ server, silent }));
  });
}

/** This machine has no such address, or no addresses of its kind. */
class AddressMissing extends KeyturnError {
  constructor(host: string, code: string) {
    super('redirect_port_taken', `This machine has no address ${host} (${code}).`, {
      rule: 'The answer of a sign-in arrives at a loopback address of this machine (RFC 8252 §7.3)',
      hint: 'Turn the loopback interface on, and give it this address.',
    });
  }
}

function portTaken(port: number): KeyturnError {
  return new KeyturnError('redirect_port_taken', `Another program uses port ${port} on this machine.`, {
    rule: 'The redirect URI is registered with this port (RFC 8252 §7.3, OAuth 2.1 exact redirect match)',
    hint: `Find the program that listens on port ${port} and end it, or register another redirect URI.`,
  });
}

export function portOf({ server }: AddressListener): number {
  // A TCP server that listens has an address with a port.
  return (server.address() as AddressInfo).port;
}

/** Resolves when the port is free and what was answered has left. */
export function closeListener({ server, silent }: AddressListener): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => server.closeAllConnections(), closingGrace).unref();
    server.close(() => {
      clearTimeout(late);
      resolve();
    });
    // Browsers open a second connection in advance and leave it silent. We don't wait for it.
    for (const socket of silent) socket.destroy();
  });
}
