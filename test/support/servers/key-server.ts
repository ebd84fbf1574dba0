/**
 * An MCP server that takes an API key in place of a sign-in, over TLS.
 *
 * Invariant: it answers 200 to a request that carries its key in its header, and 401 without a word about OAuth to every
 * other request, whatever the path. It publishes nothing.
 */
import { randomBytes } from 'node:crypto';
import type { BentServer, RecordedRequest } from '../bent/server.ts';
import type { BentWorld } from '../bent/world.ts';
import { keepSecret } from '../secrets.ts';

/** An API key as such servers make them. */
export const newKey = (): string => `ak_${randomBytes(18).toString('base64url')}`;

export interface KeyServer {
  readonly server: BentServer;
  /** Its endpoint. */
  readonly url: string;
  /** The value of the header that counts. Live. */
  expected: string;
  /** What it answered 200 to. */
  readonly served: RecordedRequest[];
}

export interface KeyServerOptions {
  /** Lower case. */
  readonly header: string;
  /** The whole value of the header. */
  readonly value: string;
}

/** It ends with the world. */
export async function openKeyServer(
  world: Pick<BentWorld, 'openServer'>,
  { header, value }: KeyServerOptions,
): Promise<KeyServer> {
  keepSecret('API key', value);
  const server = await world.openServer();
  const served: RecordedRequest[] = [];
  const keyServer: KeyServer = { server, url: `${server.origin}/mcp`, expected: value, served };
  server.on('*', '*', (request) => {
    if (request.headers[header] !== keyServer.expected) return { status: 401 };
    served.push(request);
    return { status: 200, body: 'served' };
  });
  return keyServer;
}
