/** A program that listens where the broker should, answers as it likes, and writes down all it hears. */
import net from 'node:net';
import { onTestFinished } from 'vitest';
import { listenAt } from '../../src/ipc/wire/socket.ts';
import { prepareFolder } from '../../src/base/private/private-folder.ts';
import { recordSocket } from '../../src/ipc/wire/socket-path.ts';
import { prepareSocket } from '../ipc/rig.ts';
import type { HomePaths } from '../../src/base/paths.ts';

/** `heard`: everything any client ever said. */
export async function squat(
  paths: HomePaths,
  answer: (line: string, connection: net.Socket) => string | undefined,
  /** Where a home's path is too long for a socket, it lies below one of this environment's folders. */
  env: Readonly<Record<string, string>> = {},
) {
  let all = '';
  const connections = new Set<net.Socket>();
  const server = net.createServer((connection) => {
    let text = '';
    connections.add(connection);
    connection.setEncoding('utf8');
    connection.on('error', () => {});
    connection.on('data', (piece: string) => {
      all += piece;
      text += piece;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const reply = answer(line, connection);
        if (reply !== undefined) connection.write(`${reply}\n`);
      }
    });
  });
  const socket = prepareSocket(paths, env);
  prepareFolder(paths.state);
  recordSocket(paths, socket);
  const endpoint = await listenAt(server, socket);
  onTestFinished(() => {
    for (const connection of connections) connection.destroy();
    server.close();
  });
  return { endpoint, socket, heard: () => all };
}
