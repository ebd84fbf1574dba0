/**
 * Ports of the loopback address that a test names before anybody listens there.
 *
 * Invariant: nobody else comes to one by chance: below 32768 no system hands them out by itself, the broker
 * chooses its own from 61000 on (src/broker/loopback/loopback.ts), and every process of a run has some of its own.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';

const firstPort = 20_000;

/** For each process; pids that are so many apart would share theirs. */
const ports = 32;
const processes = 384;

let given = 0;

/** One on which nobody listens at this moment. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = firstPort + (process.pid % processes) * ports + (given % ports);
    given += 1;
    if (await isFree(port)) return port;
  }
}

/** A redirect URI that a client can be registered with by hand. */
export async function freeRedirect(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/callback`;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
