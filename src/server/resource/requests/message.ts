/**
 * The protocol's messages in a body: what each of them is about.
 *
 * Invariant: the body is parsed once, and the handler gets the result of that parse, so that it can't act on another
 * operation than the one whose scopes were checked. Headers that name the operation say the same as the body, or the
 * request is refused.
 */
import { Refusal } from '../base/refusal.ts';

/** What one message asks for. */
export interface Operation {
  /** `tools/call` and the like. */
  readonly method: string;
  readonly tool?: string;
  /** A URI. */
  readonly resource?: string;
  readonly prompt?: string;
}

type Message = Readonly<Record<string, unknown>>;

/** The value in the body. Throws a refusal for anything but JSON in UTF-8. */
export function parseBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal('body_unreadable', { body: jsonRpcError(null, -32700, 'Parse error') });
  }
}

/** One for each request or notification of the body, which may be a batch. An answer of the client asks for nothing. */
export function operationsIn(body: unknown): Operation[] {
  return [body].flat().flatMap((message) => {
    const method = isMessage(message) ? message['method'] : undefined;
    return isMessage(message) && typeof method === 'string' ? [operationOf(method, message['params'])] : [];
  });
}

function operationOf(method: string, params: unknown): Operation {
  const field = (name: string): string | undefined => text(params, name);
  switch (method) {
    case 'tools/call':
      return { method, ...present('tool', field('name')) };
    case 'prompts/get':
      return { method, ...present('prompt', field('name')) };
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return { method, ...present('resource', field('uri')) };
    case 'completion/complete': {
      // A completion tells what a prompt or a resource template would take.
      const about = isMessage(params) ? params['ref'] : undefined;
      return {
        method,
        ...present('prompt', text(about, 'name')),
        ...present('resource', text(about, 'uri')),
      };
    }
    default:
      return { method };
  }
}

/** Which field of `params` the header Mcp-Name repeats, by method (revision 2026-07-28, standard request headers). */
const named: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Throws a refusal where Mcp-Method or Mcp-Name is there and differs from the body. */
export function checkOperationHeaders(headers: Headers, body: unknown): void {
  const method = headers.get('mcp-method')?.trim();
  const name = headers.get('mcp-name')?.trim();
  if (method === undefined && name === undefined) return;
  const stated = isMessage(body) ? body['method'] : undefined;
  const field = typeof stated === 'string' && Object.hasOwn(named, stated) ? named[stated] : undefined;
  const subject = isMessage(body) && field !== undefined ? text(body['params'], field) : undefined;
  const isSame =
    (method === undefined || method === stated) &&
    // Of a method without a name the header says nothing that a scope depends on.
    (name === undefined || (typeof stated === 'string' && field === undefined) || decoded(name) === subject);
  if (isSame) return;
  const id = isMessage(body) ? body['id'] : undefined;
  const shown = typeof id === 'string' || typeof id === 'number' ? id : null;
  throw new Refusal('header_mismatch', {
    body: jsonRpcError(shown, -32_020, 'The Mcp-Method or Mcp-Name header differs from the body'),
  });
}

/** A name that is not plain ASCII travels as `=?base64?…?=`. Undefined: it can't be decoded. */
function decoded(value: string): string | undefined {
  const [, encoded] = /^=\?base64\?(.*)\?=$/s.exec(value) ?? [];
  if (encoded === undefined) return value;
  try {
    const bytes = Uint8Array.from(atob(encoded), (unit) => unit.codePointAt(0) ?? 0);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function jsonRpcError(id: string | number | null, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}

function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown, name: string): string | undefined {
  const found = isMessage(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return typeof found === 'string' ? found : undefined;
}

function present<Key extends string>(key: Key, value: string | undefined): Partial<Record<Key, string>> {
  const entry: Partial<Record<Key, string>> = {};
  if (value !== undefined) entry[key] = value;
  return entry;
}
