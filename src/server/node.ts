/**
 * `@keyturn/server/node`: a protected server on Node's own http and https servers.
 *
 * Invariant: a handler is called only after all checks, with a request that has neither the token nor its proof. What a
 * handler throws ends the request, and is shown to the operator alone.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import {
  check,
  headersOf,
  isOfLeaving,
  parsedBody,
  prepare,
  targetOf,
  urlOf,
  write,
} from './node-request.ts';
import type { Access } from './resource/access.ts';
import { addedHeaders, type ProtectedHandler } from './resource/fetch-handler.ts';
import { requireServer } from './resource/base/option.ts';
import type { ProtectedServer } from './resource/protected-server.ts';

/** Answers requests that passed, in Node's way. Where `access.body` is set, the request's stream was read already. */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  access: Access,
) => void | Promise<void>;

/** A listener for `http.createServer` whose handler takes a `Request` and gives a `Response`. */
export function fetchListener(server: ProtectedServer, handler: ProtectedHandler): RequestListener {
  requireServer(server, 'fetchListener');
  return guarded(server, async (request, response) => {
    const passed = await check(server, request, response);
    if (passed === undefined) return;
    const answer = await handler(requestOf(server, request, response, passed.bytes), passed.access);
    await send(answer, response, passed.headers);
  });
}

/** A listener for `http.createServer` whose handler takes Node's own request and response. */
export function nodeListener(server: ProtectedServer, handler: NodeHandler): RequestListener {
  requireServer(server, 'nodeListener');
  return guarded(server, async (request, response) => {
    const passed = await check(server, request, response);
    if (passed === undefined) return;
    prepare(response, passed.headers);
    await handler(request, response, passed.access);
  });
}

/** The request as Fetch has it; its signal aborts when the client leaves. */
function requestOf(
  server: ProtectedServer,
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Uint8Array | undefined,
): Request {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  const method = request.method ?? 'GET';
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const left = hasBody ? (bytes ?? parsedBody(request)) : undefined;
  const body = left ?? (Readable.toWeb(request) as ReadableStream<Uint8Array>);
  return new Request(urlOf(server, targetOf(request)), {
    method,
    headers: headersOf(request),
    signal: gone.signal,
    ...(hasBody ? { body: body as ReadableStream, duplex: 'half' } : {}),
  });
}

async function send(
  answer: Response,
  response: ServerResponse,
  more: Readonly<Record<string, string>>,
): Promise<void> {
  const { headers } = answer;
  for (const [name, value] of headers) if (name !== 'set-cookie') response.setHeader(name, value);
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) response.setHeader('set-cookie', cookies);
  const added = addedHeaders(headers, more);
  for (const [name, value] of Object.entries(added)) response.setHeader(name, value);
  response.statusCode = answer.status;
  if (answer.body === null) {
    response.end();
    return;
  }
  response.flushHeaders();
  const body = Readable.fromWeb(answer.body as ReadableStream<Uint8Array>);
  await pipeline(body, response).catch((error: NodeJS.ErrnoException) => {
    // A client that leaves is no fault.
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
}

/** A fault ends the request with 500. The client hears nothing of it. */
function guarded(
  server: ProtectedServer,
  listener: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): RequestListener {
  return (request, response) => {
    listener(request, response).catch((error: unknown) => {
      const isFault = !isOfLeaving(error, request, response);
      if (response.headersSent) response.destroy();
      else write({ status: 500, headers: { 'cache-control': 'no-store' }, body: null }, response);
      if (isFault) server.failed(request.method ?? 'GET', targetOf(request).replace(/\?.*$/s, ''), error);
    });
  };
}
