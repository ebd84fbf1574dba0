/**
 * The protocol's messages in a body: what each of them is about.
 *
 * Invariant: the body is parsed once, and the handler gets the result of that parse, so that it can't act on another
 * operation than the one whose scopes were checked. A body in which the operation can't be read is refused, since
 * a handler may read it in a way of its own. So is one whose headers name another operation.
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

/** Operations of one body. The scopes of each are looked up, and a user's program asks for a handful. */
const maxOperations = 1000;

/** The value in the body. Throws a refusal for anything but JSON in UTF-8. */
export function parseBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal('body_unreadable', { body: jsonRpcError(null, -32700, 'Parse error') });
  }
}

/**
 * What the requests and notifications of the body ask for; the revision 2025-03-26 has batches. An answer of the client
 * asks for nothing. Throws a refusal for a body that is no message, for one that doesn't say what it is about, and for
 * one that asks for more than a thousand things.
 */
export function operationsIn(body: unknown): Operation[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  // JSON-RPC 2.0 §6: an empty batch is no request.
  if (messages.length === 0) throw unreadable(-32_600);
  const operations = messages.flatMap((message) => {
    if (!isMessage(message)) throw unreadable(-32_600);
    if (!Object.hasOwn(message, 'method') && ('result' in message || 'error' in message)) return [];
    return operationsOf(message);
  });
  if (operations.length > maxOperations) throw unreadable(-32_600);
  return operations;
}

function operationsOf({ method, params = null, id }: Message): Operation[] {
  if (typeof method !== 'string') throw unreadable(-32_600, id);
  // Some clients write null where there are none.
  if (params !== null && !isMessage(params)) throw unreadable(-32_602, id);
  /** The field that names what the operation is about. */
  const needed = (from: unknown, name: string): string => {
    const found = text(from, name);
    if (found === undefined) throw unreadable(-32_602, id);
    return found;
  };
  switch (method) {
    case 'tools/call':
      return [{ method, tool: needed(params, 'name') }];
    case 'prompts/get':
      return [{ method, prompt: needed(params, 'name') }];
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return [{ method, resource: needed(params, 'uri') }];
    case 'completion/complete': {
      // A completion tells what a prompt or a resource template would take.
      const about = params?.['ref'];
      const isAbout = (name: string): boolean => isMessage(about) && Object.hasOwn(about, name);
      const prompt = isAbout('name') || !isAbout('uri') ? [{ method, prompt: needed(about, 'name') }] : [];
      return isAbout('uri') ? [...prompt, { method, resource: needed(about, 'uri') }] : prompt;
    }
    case 'subscriptions/listen': {
      // Revision 2026-07-28: one request for all that the client wants to hear of.
      const filter = params?.['notifications'];
      const uris = (isMessage(filter) ? filter['resourceSubscriptions'] : undefined) ?? [];
      if (!isTexts(uris)) throw unreadable(-32_602, id);
      return [{ method }, ...uris.map((resource) => ({ method, resource }))];
    }
    default:
      return [{ method }];
  }
}

/** JSON-RPC 2.0 §5.1: invalid request, or invalid parameters. */
function unreadable(code: -32_600 | -32_602, id?: unknown): Refusal {
  const problem = code === -32_600 ? 'Invalid request' : 'Invalid parameters';
  return new Refusal('message_unreadable', { body: jsonRpcError(shownId(id), code, problem) });
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
  throw new Refusal('header_mismatch', {
    body: jsonRpcError(
      shownId(isMessage(body) ? body['id'] : undefined),
      -32_020,
      'The Mcp-Method or Mcp-Name header differs from the body',
    ),
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

/** Null: the id is none, or can't be read. */
function shownId(id: unknown): string | number | null {
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown, name: string): string | undefined {
  const found = isMessage(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return typeof found === 'string' ? found : undefined;
}
