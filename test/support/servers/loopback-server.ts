/** A plain HTTP server on this machine for one test. */
import { once } from 'node:events';
import http from 'node:http';
import { onTestFinished } from 'vitest';

/** Answers the server's origin. The server and its connections end with the test. */
export async function startLoopbackServer(answer: http.RequestListener): Promise<string> {
  const server = http.createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}
