/** An MCP server over real HTTP, and a fetch for it on a real broker socket. */
import type { Connection } from '../../src/client/connection.ts';
import { createFetch, type FetchOptions } from '../../src/client/fetch/fetch.ts';
import { startLoopbackServer } from '../support/servers/loopback-server.ts';
import { type Call, startTokenBroker, tokenDispatch, type TokenScript } from '../support/token-broker.ts';

export interface Seen {
  readonly request: string;
  readonly authorization: string | undefined;
  readonly dpop: string | undefined;
  readonly body: string;
  readonly type: string | undefined;
}

export type Reply = readonly [status: number, headers?: Record<string, string>];

/** A server on this machine that notes what came and answers as told; 200 by default. */
export async function startHttp(answer: (seen: Seen, count: number) => Reply = () => [200]) {
  const seen: Seen[] = [];
  const origin = await startLoopbackServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      const { authorization, 'content-type': type, dpop } = request.headers;
      const proof = typeof dpop === 'string' ? dpop : undefined;
      const entry = { request: `${request.method} ${request.url}`, authorization, dpop: proof, body, type };
      seen.push(entry);
      const [status, headers] = answer(entry, seen.length);
      response.writeHead(status, headers).end('answer');
    });
  });
  return { seen, origin };
}

/** A program that is connected to a broker of this resource's tokens; `calls` gets what it asks. */
export async function connectedProgram(
  resource: string,
  calls: Call[],
  script: Omit<TokenScript, 'heard'> = {},
): Promise<Connection> {
  const heard = (call: Call): void => void calls.push(call);
  const program = await startTokenBroker(tokenDispatch(resource, { ...script, heard }));
  return program();
}

/** A fetch for `<origin>/api`, and what it asked of the broker. */
export async function startFetch(
  origin: string,
  options: Partial<FetchOptions> = {},
  script: Omit<TokenScript, 'heard'> = {},
) {
  const calls: Call[] = [];
  const resource = `${origin}/api`;
  const connection = await connectedProgram(resource, calls, script);
  return { calls, resource, authorized: createFetch(connection, { resource, ...options }) };
}

/** Both: a server that answers like this, and a fetch for it. */
export async function fetchAt(
  answer?: Parameters<typeof startHttp>[0],
  options?: Partial<FetchOptions>,
  script?: Omit<TokenScript, 'heard'>,
) {
  const server = await startHttp(answer);
  return { ...server, ...(await startFetch(server.origin, options, script)) };
}

export const bearers = (seen: readonly Seen[]) => seen.map((each) => each.authorization);
export const methodsOf = (calls: readonly Call[]) => calls.map((call) => call.method);
export const insufficient = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="read write"' };
