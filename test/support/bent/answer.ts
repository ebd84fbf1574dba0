/** What a bent server can answer: anything. No header is added but the content type of a JSON body. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A list sends one header several times. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface Reply {
  /** 200 unless told otherwise. */
  readonly status?: number;
  readonly headers?: ReplyHeaders;
  /** Text and bytes are sent as they are, a function's async iterable as a stream, anything else as JSON. */
  readonly body?: unknown;
}

/**
 * `hang`: nothing is ever sent. `destroy`: the connection breaks before a byte is sent. `raw`: these
 * bytes go on the wire in place of an HTTP response, then the connection ends.
 */
export type Answer = Reply | 'hang' | 'destroy' | { readonly raw: string | Uint8Array };

/** JSON of any value, with a status. */
export function json(body: unknown, status = 200, headers: ReplyHeaders = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

export function html(body: string, status = 200): Reply {
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body };
}

export function redirectTo(location: string, status = 302): Reply {
  return { status, headers: { location } };
}

/** The head and `start` arrive, then nothing more ever. */
export function stalled(start = '{'): Reply {
  return {
    headers: { 'content-type': 'application/json' },
    async *body() {
      yield start;
      await new Promise<never>(() => undefined);
    },
  };
}

/** The head and `start` arrive, then the connection breaks. */
export function cutOff(start = '{'): Reply {
  return {
    headers: { 'content-type': 'application/json' },
    async *body() {
      yield start;
      throw new Error('cut off on purpose');
    },
  };
}

/** @returns once everything is sent, or at once where nothing will be. */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
): Promise<void> {
  if (answer === 'hang') return;
  if (answer === 'destroy') {
    request.socket.destroy();
    return;
  }
  if ('raw' in answer) {
    request.socket.end(answer.raw);
    return;
  }
  const { status = 200, headers = {}, body } = answer;
  for (const [name, value] of Object.entries(headers)) {
    response.setHeader(name, typeof value === 'string' ? value : [...value]);
  }
  response.statusCode = status;
  if (isStream(body)) {
    response.flushHeaders();
    // Fails when the reader goes away or the stream breaks: both are what a test wanted.
    await pipeline(Readable.from(body()), response).catch(() => undefined);
  } else if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    response.end(body);
  } else {
    if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(body));
  }
}

/** A function rather than an iterable, so that one answer serves many requests. */
function isStream(body: unknown): body is () => AsyncIterable<string | Uint8Array> {
  return typeof body === 'function';
}
