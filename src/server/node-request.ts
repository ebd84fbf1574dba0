/**
 * A request of Node's http server in the form in which the checks take it.
 *
 * Invariant: every header line that was sent is looked at; Node's own `headers` drops a second Authorization in
 * silence. What passes has no token and no proof in any of Node's three forms of headers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { KeyturnError } from '../base/errors.ts';
import { boundedBytes } from '../oauth/base/bounded-bytes.ts';
import { withheldHeaders } from './resource/access.ts';
import type { Answer, IncomingRequest } from './resource/base/incoming.ts';
import { isForm } from './resource/requests/credentials.ts';
import { addedHeaders } from './resource/fetch-handler.ts';
import { peerOf } from './resource/requests/transport.ts';
import type { ProtectedServer, Verdict } from './resource/protected-server.ts';

/** The way on, or undefined: the request was answered. */
export async function check(
  server: ProtectedServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Extract<Verdict, { kind: 'passed' }> | undefined> {
  const verdict = await server.check(incomingOf(server, request));
  if (verdict.kind === 'passed') {
    withholdHeaders(request);
    return verdict;
  }
  write(verdict.answer, response);
  return undefined;
}

export function incomingOf(server: ProtectedServer, request: IncomingMessage): IncomingRequest {
  const target = targetOf(request);
  const address = peerOf(request.socket);
  return {
    method: request.method ?? 'GET',
    url: urlOf(server, target),
    target,
    headers: headersOf(request),
    connection: { isEncrypted: isEncrypted(request), address },
    readBody: async (maxBytes) => readBody(request, maxBytes),
  };
}

/** The whole body, also if a parser of bodies ran before. Undefined: it is longer. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array | undefined> {
  const parsed = parsedBody(request);
  if (parsed === undefined) return boundedBytes(request, maxBytes);
  return parsed.byteLength > maxBytes ? undefined : parsed;
}

/** What a parser of bodies left of the body, written again: the stream is empty then. Undefined: none ran. */
export function parsedBody(request: IncomingMessage): Uint8Array | undefined {
  if (!request.readableDidRead) return undefined;
  const body = 'body' in request ? request.body : undefined;
  if (body === undefined) throw unusableBody();
  if (body instanceof Uint8Array) return body;
  if (typeof body === 'string') return Buffer.from(body);
  if (typeof body !== 'object' || body === null || !isForm(headersOf(request)))
    return Buffer.from(JSON.stringify(body));
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body) as [string, unknown][])
    for (const each of [value].flat()) {
      // `a[b]=1` may have become an object.
      if (typeof each !== 'string') throw unusableBody();
      form.append(name, each);
    }
  return Buffer.from(form.toString());
}

function unusableBody(): KeyturnError {
  return new KeyturnError(
    'internal',
    'Another handler read the body of the request, and left nothing usable.',
    {
      hint: 'Let this server come first, or set request.body. In Fastify: request.raw.body = request.body',
    },
  );
}

/** A client that leaves is no fault: neither half a body, nor what its signal stopped. */
export function isOfLeaving(error: unknown, request: IncomingMessage, response: ServerResponse): boolean {
  const isStopped = response.destroyed && error instanceof Error && error.name === 'AbortError';
  return isStopped || (request.destroyed && !request.complete);
}

/** Express keeps the whole target in `originalUrl`. */
export function targetOf(request: IncomingMessage): string {
  const target =
    'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : request.url;
  return target ?? '/';
}

/** The path at the configured origin: a Host header may say anything. The checks refuse a target that is no path. */
export function urlOf(server: ProtectedServer, target: string): URL {
  // RFC 9112 §3.2.2: a client may send the whole URL, as to a proxy.
  const path = target.replace(/^https?:\/\/[^/?]*/i, '');
  return new URL(server.origin + (path.startsWith('/') ? path : `/${path}`));
}

export function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  }
  return headers;
}

function isEncrypted({ socket }: IncomingMessage): boolean {
  return 'encrypted' in socket && socket.encrypted === true;
}

/** In each of the three forms in which Node has them. */
function withholdHeaders(request: IncomingMessage): void {
  for (const name of withheldHeaders) {
    delete request.headers[name];
    delete request.headersDistinct[name];
  }
  const { rawHeaders } = request;
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (withheldHeaders.includes(rawHeaders[at]?.toLowerCase() ?? '')) rawHeaders.splice(at, 2);
  }
}

/** What the application set before, for pages in browsers, stays. */
export function write({ status, headers, body }: Answer, response: ServerResponse): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith('access-control-') || !response.hasHeader(name)) response.setHeader(name, value);
  }
  response.writeHead(status);
  response.end(body ?? undefined);
}

/** Headers that the answer of a handler of Node's own kind will carry, unless it sets them itself. */
export function prepare(response: ServerResponse, more: Readonly<Record<string, string>>): void {
  const added = addedHeaders({ has: (name) => response.hasHeader(name) }, more);
  for (const [name, value] of Object.entries(added)) response.setHeader(name, value);
}
