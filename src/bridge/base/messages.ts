/**
 * JSON-RPC messages as the bridge sees them: which kind each is, and how an error is made.
 *
 * Invariant: looks only at the envelope. What a method means is known in `reissue.ts` and the files of the eras.
 */
import type {
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  RequestId,
  Transport,
} from '@modelcontextprotocol/client';

export type Answer = JSONRPCResultResponse | JSONRPCErrorResponse;
export type { JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, RequestId };

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
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

export function errorAnswer(id: RequestId, error: RpcError): JSONRPCErrorResponse {
  return { jsonrpc: '2.0', id, error };
}

/** The request that a `notifications/cancelled` ends. */
export function cancelledId(message: JSONRPCNotification): RequestId | undefined {
  if (message.method !== 'notifications/cancelled') return undefined;
  const id = message.params?.['requestId'];
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

export interface Listeners {
  readonly onmessage: (message: JSONRPCMessage) => void;
  readonly onerror: (error: Error) => void;
  readonly onclose?: () => void;
}

/** The SDK's transports call functions that are set on them; they are no event targets. */
export function listen(transport: Transport, listeners: Listeners): void {
  Object.assign(transport, listeners);
}
