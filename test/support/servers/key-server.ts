/**
 * An MCP server that takes an API key instead of a sign-in, over TLS. It answers 200 to a request with its key, and 401
 * without a word about OAuth to every other, whatever the path.
 */
import { randomBytes } from 'node:crypto';
import type { RecordedRequest } from '../bent/server.ts';
import type { BentWorld } from '../bent/world.ts';
import { keepSecret } from '../secrets.ts';

/** An API key as such servers make them. */
export const newKey = (): string => `ak_${randomBytes(18).toString('base64url')}`;

/** It ends with the world. `header` in lower case; `value` is the whole of it, and a test may expect another one later. */
export async function openKeyServer(
  world: Pick<BentWorld, 'openServer'>,
  { header, value }: { readonly header: string; readonly value: string },
) {
  keepSecret('API key', value);
  const server = await world.openServer();
  const served: RecordedRequest[] = [];
  const keyServer = { server, url: `${server.origin}/mcp`, expected: value, served };
  server.on('*', '*', (request) => {
    if (request.headers[header] !== keyServer.expected) return { status: 401 };
    served.push(request);
    return { status: 200, body: 'served' };
  });
  return keyServer;
}
