/**
 * The protected server for servers that pass a `Request` and take a `Response`: workers, Deno, Bun, Hono.
 *
 * Invariant: the handler gets a request without the token and its proof. The body is the same bytes that were checked.
 */
import { z } from 'zod';
import { KeyturnError } from '../../base/errors.ts';
import { boundedBytes } from '../../oauth/base/bounded-bytes.ts';
import { withheldHeaders, type Access } from './access.ts';
import type { IncomingRequest } from './base/incoming.ts';
import { requireServer } from './base/option.ts';
import type { ProtectedServer } from './protected-server.ts';

/** Answers requests that passed. */
export type ProtectedHandler = (request: Request, access: Access) => Response | Promise<Response>;

export type FetchHandler = (request: Request, connection?: unknown) => Promise<Response>;

/**
 * A handler that answers what may not pass by itself, and hands the rest on. `connection` says the IP address of the
 * other end: `{address}`, or what Deno, Bun and Hono pass. Other objects, such as a worker's bindings, are ignored.
 */
export function protect(server: ProtectedServer, handler: ProtectedHandler): FetchHandler {
  requireServer(server, 'protect');
  return async (request, connection) => {
    const verdict = await server.check(incomingOf(request, connection));
    if (verdict.kind === 'answered') {
      const { status, headers, body } = verdict.answer;
      return new Response(body, { status, headers });
    }
    const response = await handler(handedOn(request, verdict.bytes), verdict.access);
    return withHeaders(response, verdict.headers);
  };
}

function incomingOf(request: Request, connection: unknown): IncomingRequest {
  const url = new URL(request.url);
  const address = addressOf(connection, request);
  return {
    method: request.method,
    url,
    headers: request.headers,
    connection: { isEncrypted: url.protocol === 'https:', address },
    readBody: async (maxBytes) => {
      if (request.bodyUsed) throw bodyUsed();
      return request.body === null ? new Uint8Array() : boundedBytes(request.body, maxBytes);
    },
  };
}

function bodyUsed(): KeyturnError {
  return new KeyturnError('internal', 'The body of the request was read before protect() saw it.', {
    hint: 'Let protect() come first. The handler finds the parsed message in access.body. In Hono pass await cloneRawRequest(c.req).',
  });
}

/** What platforms pass beside a request: Hono on Node, Deno, and Bun, which is asked for the address. */
const connectionShape = z.union([
  z.object({ address: z.string() }).transform(({ address }) => address),
  z
    .object({ remoteAddr: z.object({ hostname: z.string() }) })
    .transform(({ remoteAddr }) => remoteAddr.hostname),
  z
    .object({ incoming: z.object({ socket: z.object({ remoteAddress: z.string() }) }) })
    .transform(({ incoming }) => incoming.socket.remoteAddress),
]);

function addressOf(connection: unknown, request: Request): string | undefined {
  const isBun = typeof connection === 'object' && connection !== null && 'requestIP' in connection;
  const { requestIP } = isBun ? connection : {};
  const known =
    typeof requestIP === 'function' ? (requestIP.call(connection, request) as unknown) : connection;
  return connectionShape.safeParse(known).data;
}

function handedOn(request: Request, bytes: Uint8Array | undefined): Request {
  const headers = new Headers(request.headers);
  for (const name of withheldHeaders) headers.delete(name);
  const { method, signal } = request;
  const hasBody = method !== 'GET' && method !== 'HEAD';
  if (bytes === undefined && request.bodyUsed) throw bodyUsed();
  const body = bytes === undefined ? request.body : (bytes as Uint8Array<ArrayBuffer>);
  // Fetch standard: a stream as a body needs `duplex`.
  const init: RequestInit = { method, headers, signal, ...(hasBody && body ? { body, duplex: 'half' } : {}) };
  return new Request(request.url, init);
}

/** RFC 9111 §5.2.2.5: what one caller may see is kept by no cache, unless the handler says more of it. */
export function addedHeaders(
  answered: Pick<Headers, 'has'>,
  more: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const added = { 'cache-control': 'no-store', ...more };
  // What an application says of caches and of pages in browsers, it says on purpose.
  return Object.fromEntries(
    Object.entries(added).filter(
      ([name]) => !/^(?:cache-control|vary|access-control-)/.test(name) || !answered.has(name),
    ),
  );
}

function withHeaders(response: Response, more: Readonly<Record<string, string>>): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(addedHeaders(headers, more))) {
    headers.set(name, value);
  }
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
}
