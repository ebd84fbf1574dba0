/**
 * The body of a request, read whole: after a challenge it may have to be sent again.
 *
 * Invariant: no more than `maxBody` bytes are kept of one request.
 */
import type { IncomingMessage } from 'node:http';
import { HttpRefusal } from './http-refusal.ts';
import { isObject } from '../ipc/wire/values.ts';
import type { MessageId } from '../ipc/wire/json-rpc.ts';

/** Bytes: more than any message of the protocol that servers are known to take. */
const maxBody = 16 * 1024 * 1024;

/** Undefined for a request without a body. Throws `HttpRefusal` for a body that is too long, and for one of a GET. */
export async function bodyOf(request: IncomingMessage): Promise<Buffer<ArrayBuffer> | undefined> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > maxBody) throw tooLong();
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Not destroyed by a refusal: its rest is read then (`restOf`).
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!(chunk instanceof Uint8Array)) continue;
    length += chunk.byteLength;
    if (length > maxBody) throw tooLong();
    chunks.push(chunk);
  }
  if (length === 0) return undefined;
  if (request.method !== 'GET') return Buffer.concat(chunks);
  throw new HttpRefusal(400, 'invalid_request', 'a GET request has no body', {
    rule: 'RFC 9110 §9.3.1',
    hint: 'Send messages by POST.',
  });
}

/** Keeps none of it, for `patience` milliseconds: a client that sends all before it reads would get no answer. */
export async function restOf(request: IncomingMessage, patience: number): Promise<void> {
  if (request.complete || request.destroyed) return;
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, patience);
  request.once('end', over.resolve).once('close', over.resolve).resume();
  await over.promise;
  clearTimeout(timer);
}

/** Bytes: a longer message carries data along. A refusal of it doesn't have its id. */
const maxParsed = 1024 * 1024;

/** The id of the message, so that the client can tell which one was refused. */
export function messageIdIn(body: Buffer | undefined): MessageId | null {
  if (body === undefined || body.byteLength > maxParsed) return null;
  try {
    const message: unknown = JSON.parse(body.toString('utf8'));
    const id = isObject(message) ? message['id'] : undefined;
    return typeof id === 'string' || Number.isSafeInteger(id) ? (id as MessageId) : null;
  } catch {
    return null;
  }
}

function tooLong(): HttpRefusal {
  return new HttpRefusal(413, 'invalid_request', 'the request is longer than the proxy takes', {
    rule: `A request's body has at most ${maxBody / 1024 / 1024} MiB, since it is kept for another try`,
    hint: 'Send less in one message.',
  });
}
