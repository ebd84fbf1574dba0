/** One connection of this process to itself. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Both its ends, until the test ends. */
export async function socketPair(): Promise<{ readonly client: Socket; readonly server: Socket }> {
  const listening = createServer().listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const address = listening.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const accepted = once(listening, 'connection');
  const client = connect(address.port, '127.0.0.1');
  const [server]: Socket[] = await accepted;
  listening.close();
  if (!server) throw new Error('no connection');
  onTestFinished(() => {
    client.destroy();
    server.destroy();
  });
  return { client, server };
}
