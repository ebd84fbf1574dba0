/** Plain servers on this machine. */
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { Server } from 'node:net';
import { onTestFinished } from 'vitest';
import type { AtEnd } from '../temporary-folder.ts';

/** Listens on a free port of the loopback address, which it answers. Server and connections end with the test, unless told otherwise. */
export async function portOf(server: Server, atEnd: AtEnd = onTestFinished): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  atEnd(() => {
    if (server instanceof http.Server || server instanceof https.Server) server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

/** Answers the server's origin. It ends with the test. */
export async function startLoopbackServer(answer: http.RequestListener): Promise<string> {
  return `http://127.0.0.1:${await portOf(http.createServer(answer))}`;
}
