/** A protected server over real HTTP, and a fetch for it on a real broker socket. */
import { once } from 'node:events';
import http from 'node:http';
import { onTestFinished } from 'vitest';
import { connect } from '../../src/client/connect.ts';
import { createFetch, type FetchOptions } from '../../src/client/fetch.ts';
import { startRig } from '../ipc/rig.ts';

export interface Seen {
  readonly request: string;
  readonly authorization: string | undefined;
  readonly body: string;
  readonly type: string | undefined;
}

export type Reply = readonly [status: number, headers?: Record<string, string>];

/** A server on this machine that notes what came and answers as told; 200 by default. */
export async function startHttp(answer: (seen: Seen, count: number) => Reply = () => [200]) {
  const seen: Seen[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      const { authorization, 'content-type': type } = request.headers;
      const entry = { request: `${request.method} ${request.url}`, authorization, body, type };
      seen.push(entry);
      const [status, headers] = answer(entry, seen.length);
      response.writeHead(status, headers).end('answer');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { seen, origin: `http://127.0.0.1:${port}` };
}

export interface Call {
  readonly method: string;
  readonly params: unknown;
}

/** A broker that notes what it is asked. Tokens: t1, then a new one a refusal. */
export function tokenDispatch(
  resource: string,
  calls: Call[],
  tokens: readonly object[] = [],
  verdict: object = { rejected: true },
) {
  let current = 1;
  const token = () => ({
    access_token: `secret-${current}`,
    token_type: 'Bearer',
    expires_at: 1_800_000_000,
    expires_in: 3600,
    scope: 'read',
    resource,
    account: '',
    issuer: 'https://login.example',
    tokenId: `t${current}`,
    ...tokens[current - 1],
  });
  return async (_caller: unknown, method: string, params: unknown): Promise<object> => {
    calls.push({ method, params });
    if (method === 'token.reject') {
      current += 1;
      return verdict;
    }
    const stepUp = typeof params === 'object' && params && 'challenge' in params && params.challenge;
    if (stepUp && typeof stepUp === 'object' && 'status' in stepUp && stepUp.status === 403) current += 1;
    return token();
  };
}

/** A fetch for `<origin>/api`, and what it asked of the broker. */
export async function startFetch(
  origin: string,
  options: Partial<FetchOptions> = {},
  tokens?: readonly object[],
  verdict?: object,
) {
  const calls: Call[] = [];
  const resource = `${origin}/api`;
  const rig = await startRig({ dispatch: tokenDispatch(resource, calls, tokens, verdict) });
  const connection = await connect({ key: rig.enrol(), paths: rig.paths });
  onTestFinished(() => connection.close());
  return { calls, resource, authorized: createFetch(connection, { resource, ...options }) };
}

export const bearers = (seen: readonly Seen[]) => seen.map((each) => each.authorization);
export const methodsOf = (calls: readonly Call[]) => calls.map((call) => call.method);
export const insufficient = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="read write"' };
