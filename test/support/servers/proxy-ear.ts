/** A proxy of somebody else's: it notes who is asked for, and lets nobody through. */
import { createServer } from 'node:http';
import { portOf } from './loopback-server.ts';

/** Ends with the test. `asked`: `HOST:PORT` of each tunnel that was asked for. */
export async function proxyEar(answer = '502 Bad Gateway') {
  const asked: string[] = [];
  const server = createServer((_request, response) => response.writeHead(502).end());
  server.on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    socket.end(`HTTP/1.1 ${answer}\r\n\r\n`);
  });
  return { url: `http://127.0.0.1:${await portOf(server)}`, asked };
}
