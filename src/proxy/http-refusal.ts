/**
 * How the proxy says no: an HTTP status, and the protocol's own form of an error with the reason and what to do.
 *
 * Invariant: never a 401, and never the MCP server's challenge: a client that gets one begins to sign in by
 * itself.
 */
import type { ServerResponse } from 'node:http';
import { KeyturnError, reasonOf, type ErrorDetails, type Reason } from '../base/errors.ts';
import { errorBody, type MessageId } from '../ipc/wire/json-rpc.ts';

export class HttpRefusal extends KeyturnError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    reason: Reason,
    message: string,
    details: ErrorDetails & { readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(reason, message, details);
    this.status = status;
    this.headers = details.headers ?? {};
  }
}

/** Reasons that don't concern the servers behind. 503: it may pass once the user acted, or the broker is back. */
const statuses: Partial<Record<Reason, number>> = {
  invalid_request: 400,
  not_found: 404,
  not_permitted: 403,
  consent_denied: 403,
  access_denied: 403,
  unpaired: 403,
  rate_limited: 429,
  internal: 500,
  consent_required: 503,
  consent_pending: 503,
  login_required: 503,
  login_pending: 503,
  interrupted: 503,
  locked: 503,
  paused: 503,
  vault_unavailable: 503,
  vault_unreadable: 503,
  file_unreadable: 503,
  broker_unreachable: 503,
  broker_stopping: 503,
};

/** Ends the connection where an answer had begun; else the caller ends the response. `id`: of the refused message. */
export function refuse(response: ServerResponse, error: unknown, id: MessageId | null): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  // 502: what goes wrong between us and the servers behind.
  const status = error instanceof HttpRefusal ? error.status : (statuses[reasonOf(error)] ?? 502);
  const body = JSON.stringify({ jsonrpc: '2.0', id, error: errorBody(error) });
  const retryAfter = error instanceof KeyturnError ? error.retryAfter : undefined;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // What is left of a refused request is never taken for the next one.
    connection: 'close',
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    ...(error instanceof HttpRefusal ? error.headers : {}),
  });
  response.write(body);
}
