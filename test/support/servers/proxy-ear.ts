/** A proxy of somebody else's: it notes who is asked for, and lets nobody through. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Ends with the test. `asked`: `HOST:PORT` of each tunnel that was asked for. */
export async function proxyEar(answer = '502 Bad Gateway') {
  const asked: string[] = [];
  const server = createServer((_request, response) => response.writeHead(502).end());
  server.on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    socket.end(`HTTP/1.1 ${answer}\r\n\r\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}
