/**
 * One HTTPS listener on the loopback address.
 *
 * Invariant: it binds 127.0.0.1 and nothing else, and after `close` no socket of it is left. The port
 * is known before anything is served, because an issuer and a resource have to name their own port; until then each
 * request gets 503.
 */
import type { RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { KeyturnError } from '../base/errors.ts';
import type { Certificates } from './certificate.ts';

export interface TlsListener {
  readonly port: number;
  /** `https://127.0.0.1:PORT`, without a slash at its end. */
  readonly origin: string;
  serve(listener: RequestListener): void;
  /** Open connections, whatever became of what they asked. */
  connections(): number;
  /** Ends every connection, idle or not, and frees the port. */
  close(): Promise<void>;
}

/** @param port 0 lets the system choose. A port in use is a `conflict`. */
export async function listenOnLoopback(certificates: Certificates, port: number): Promise<TlsListener> {
  const server = createServer({ key: certificates.key, cert: certificates.cert });
  server.on('request', refuse);
  // `closeAllConnections` overlooks a connection whose TLS handshake isn't finished.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      reject(
        new KeyturnError('conflict', `Port ${port} of 127.0.0.1 can't be used.`, {
          hint: 'Stop the program that uses it, or name another port in the file of --config (0 takes a free one).',
          cause,
        }),
      );
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') {
    throw new KeyturnError('internal', 'The listener has no port.');
  }
  return {
    port: address.port,
    origin: `https://127.0.0.1:${address.port}`,
    serve(listener) {
      server.off('request', refuse);
      server.on('request', listener);
    },
    connections: () => sockets.size,
    async close() {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Without an answer a client that came too early would wait for good. */
function refuse(_request: unknown, response: ServerResponse): void {
  response.writeHead(503, { 'retry-after': '1', 'cache-control': 'no-store' }).end();
}
