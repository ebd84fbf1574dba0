/**
 * JSON-RPC 2.0 as the wire uses it: one message a frame, and refusals as its errors.
 *
 * Invariants: an error that isn't ours keeps its text in its own process. What a message repeats of the other side's
 * text is bounded and visible.
 */
import {
  detailsOf,
  isReason,
  KeyturnError,
  type ErrorDetails,
  type Reason,
  reasons,
} from '../../base/errors.ts';
import { visible } from '../../base/text/visible.ts';
import { maxLength } from './limits.ts';
import { isObject, isText, type Fields } from './values.ts';

export type MessageId = string | number;

/** The `error` member of a JSON-RPC answer. `retryAfter` in seconds. */
export interface ErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: { readonly reason: Reason } & Omit<ErrorDetails, 'cause'>;
}

export type Message =
  | { readonly kind: 'request'; readonly id: MessageId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'result'; readonly id: MessageId; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: MessageId | null; readonly error: ErrorBody };

function isMessageId(value: unknown): value is MessageId {
  return Number.isSafeInteger(value) || isText(value, maxLength.id);
}

function isErrorBody(value: unknown): value is ErrorBody {
  if (!isObject(value) || !Number.isSafeInteger(value['code']) || typeof value['message'] !== 'string')
    return false;
  const data = value['data'];
  return data === undefined || isObject(data);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * One frame as a message. Throws `parse_error` where it isn't JSON in UTF-8, and `frame_invalid`
 * where it isn't a single JSON-RPC 2.0 message (batches are refused: they add nothing on a stream).
 */
export function parseMessage(frame: Uint8Array): Message {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(frame));
  } catch {
    // The parser's own error repeats a piece of the text, which may hold a secret.
    throw new KeyturnError('parse_error', 'a frame is not JSON in UTF-8', { rule: 'JSON-RPC 2.0 §5.1' });
  }
  const message = isObject(value) && value['jsonrpc'] === '2.0' ? asMessage(value) : undefined;
  if (message) return message;
  throw new KeyturnError('frame_invalid', 'a frame is not a single JSON-RPC 2.0 message', {
    rule: 'JSON-RPC 2.0 §4, §5',
  });
}

function asMessage(value: Fields): Message | undefined {
  const { id, method, params, result, error } = value;
  if (method !== undefined) {
    if (!isText(method, maxLength.method)) return undefined;
    if (id === undefined) return { kind: 'notification', method, params };
    return isMessageId(id) ? { kind: 'request', id, method, params } : undefined;
  }
  if (error !== undefined) {
    if (!isErrorBody(error) || result !== undefined) return undefined;
    return id === null || isMessageId(id) ? { kind: 'error', id, error } : undefined;
  }
  return isMessageId(id) && result !== undefined ? { kind: 'result', id, result } : undefined;
}

/** What a refusal looks like on the wire. A foreign error's text never leaves the process. */
export function errorBody(error: unknown): ErrorBody {
  if (!(error instanceof KeyturnError)) {
    return {
      code: reasons.internal.code,
      message: 'the broker met an error of its own; its log says more',
      data: { reason: 'internal' },
    };
  }
  const { reason, message } = error;
  return { code: reasons[reason].code, message, data: { reason, ...detailsOf(error) } };
}

/** Visible text of bounded length; control characters and direction overrides become escapes. */
function shown(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  // A hint names a value that can't be in a command on a line of its own.
  return value.slice(0, maxLength.sentence).split('\n').map(visible).join('\n');
}

/** The refusal that a proven broker sent. A reason unknown to this release becomes `internal` with its message. */
export function errorFrom(body: ErrorBody): KeyturnError {
  const { reason, hint, rule, exception, retryAfter }: Fields = isObject(body.data) ? body.data : {};
  const message = shown(body.message) ?? 'the broker refused without a reason';
  return new KeyturnError(isReason(reason) ? reason : 'internal', message, {
    hint: shown(hint),
    rule: shown(rule),
    exception: shown(exception),
    retryAfter: typeof retryAfter === 'number' && retryAfter >= 0 ? retryAfter : undefined,
  });
}
