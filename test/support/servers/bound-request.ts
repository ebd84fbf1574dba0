/** One request to a server that takes bound tokens, past every client library. */
import type { TestWorld } from '../world.ts';

/** What `keyturn token --dpop` printed: a header in each line. */
export function headersIn(printed: string): Record<string, string> {
  return Object.fromEntries(
    printed
      .trim()
      .split('\n')
      .map((line) => line.split(': ') as [string, string]),
  );
}

/** The status of the answer. */
export async function statusWith(world: TestWorld, headers: Record<string, string>): Promise<number> {
  const response = await world.fetch(world.protectedServer.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  await response.body?.cancel();
  return response.status;
}
