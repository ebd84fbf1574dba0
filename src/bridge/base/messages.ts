/**
 * JSON-RPC messages as the bridge sees them: which kind each is, and how an error is made.
 *
 * Invariant: looks only at the envelope, and knows no method but `notifications/cancelled`.
 */
import { fieldsOf, type Fields, idOf, ownId } from './json.ts';

export type RequestId = string | number;

export interface JSONRPCRequest {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly method: string;
  readonly params?: Fields | undefined;
}

export type JSONRPCNotification = Omit<JSONRPCRequest, 'id'>;

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** JSON-RPC 2.0, §5: without an id where the request's is unknown. */
export type Answer =
  | { readonly jsonrpc: '2.0'; readonly id?: RequestId; readonly result: Fields }
  | { readonly jsonrpc: '2.0'; readonly id?: RequestId; readonly error: RpcError };

export type JSONRPCMessage = JSONRPCRequest | JSONRPCNotification | Answer;

/**
 * The message that a value plainly is, in the form that strict readers take: `null` where there is nothing, a missing
 * version, further members, and errors in other forms are common. Undefined: it is none.
 */
export function messageOf(value: unknown): JSONRPCMessage | undefined {
  const { id: written, method, params, result, error } = fieldsOf(value);
  const id = idOf(written);
  const common = { jsonrpc: '2.0', ...(id === undefined ? {} : { id }) } as const;
  if (typeof method === 'string')
    return { ...common, method, ...(isNothing(params) ? {} : { params: params as Fields }) };
  if (!isNothing(error)) return { ...common, error: errorOf(error) };
  if (result === null) return { ...common, result: {} };
  return typeof result === 'object' && !Array.isArray(result)
    ? { ...common, result: result as Fields }
    : undefined;
}

export const isNothing = (value: unknown): boolean => value === undefined || value === null;

/** JSON-RPC's "internal error". */
const internalError = -32_603;

function errorOf(error: unknown): RpcError {
  const { code, message, data } = fieldsOf(error);
  const number = typeof code === 'string' && code.trim() !== '' ? Number(code) : code;
  const isCode = typeof number === 'number' && Number.isSafeInteger(number);
  const words = typeof message === 'string' ? message : typeof error === 'string' ? error : undefined;
  // What has no place in the form is kept as data.
  const isWhole = isCode && words !== undefined;
  return {
    code: isCode ? number : internalError,
    message: words ?? JSON.stringify(error),
    ...(data === undefined ? (isWhole || words === error ? {} : { data: error }) : { data }),
  };
}

export function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return 'method' in message && 'id' in message;
}

export function isNotification(message: JSONRPCMessage): message is JSONRPCNotification {
  return 'method' in message && !('id' in message);
}

export function isAnswer(message: JSONRPCMessage): message is Answer {
  return !('method' in message);
}

export function errorAnswer(id: RequestId, error: RpcError): Answer & { readonly error: RpcError } {
  return { jsonrpc: '2.0', id, error };
}

/** Texts of answers, by their results. Results are copied and never changed, so a result's text says what it holds. */
const texts = new WeakMap<object, { readonly text: string; readonly id: RequestId | undefined }>();

/** Remembers the text that a value came in, so that it needn't be written again: that is a third of a large answer's time. */
export function keepText(answer: Answer, value: unknown, text: string): void {
  if (!('result' in answer)) return;
  const fields = fieldsOf(value);
  // Else the message was brought into the form that strict readers take.
  const isInForm =
    fields['result'] === answer.result && fields['jsonrpc'] === '2.0' && Object.keys(fields).length === 3;
  if (isInForm && !/[\n\r]/.test(text)) texts.set(answer.result, { text, id: answer.id });
}

/** The text of an answer that goes out as it came, under the same id. */
export function keptText(message: object): string | undefined {
  const { id, result } = fieldsOf(message);
  const kept = typeof result === 'object' && result !== null ? texts.get(result) : undefined;
  return kept?.id === id ? kept?.text : undefined;
}

/** An answer for the sender of the request: under the id as it was written. */
export function withOwnId(answer: Answer): object {
  return answer.id === undefined ? answer : { ...answer, id: ownId(answer.id) };
}

/** The request that a `notifications/cancelled` ends. */
export function cancelledId(message: JSONRPCNotification): RequestId | undefined {
  if (message.method !== 'notifications/cancelled') return undefined;
  return idOf(message.params?.['requestId']);
}

/** What the bridge needs of a server, whatever revision that speaks. */
export interface ServerPeer {
  /** The server's answer under the id of `request`. Rejects with a KeyturnError, or with the signal's reason. */
  request(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer>;
  /** A notification, or an answer to what the server asked. */
  send(message: JSONRPCNotification | Answer): Promise<void>;
}

/** A message that the server sends by itself; `about`: the client's request in whose answer it came. */
export type OnServerMessage = (message: JSONRPCMessage, about: RequestId | undefined) => void;
