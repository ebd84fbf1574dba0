/** A port for a new proxy: one that nobody listens on, found out by listening. */
import { createServer } from 'node:net';
import { anyPort } from '../../broker/loopback/port-listener.ts';
import { KeyturnError } from '../../base/errors.ts';

/** Tries to find a port that is free. */
const portTries = 16;

/** `wanted`: the one that the person named. Throws `conflict` where it is taken. */
export async function freePort(
  wanted: number | undefined,
  isOurs: (port: number) => boolean,
): Promise<number> {
  if (wanted !== undefined) {
    if (await isFree(wanted)) return wanted;
    throw new KeyturnError('conflict', `Port ${wanted} on this machine is taken by another program.`, {
      hint: 'Choose another, or leave out --port.',
    });
  }
  for (let left = portTries; left > 0; left -= 1) {
    const port = anyPort();
    if (!isOurs(port) && (await isFree(port))) return port;
  }
  throw new KeyturnError('conflict', 'No free port was found on this machine.', {
    hint: 'Name one that you know to be free: keyturn proxy add URL --port NUMBER',
  });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const isOpen = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => resolve(true));
  });
  if (isOpen) await new Promise((resolve) => server.close(resolve));
  return isOpen;
}
