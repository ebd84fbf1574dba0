/**
 * What a request is about to do, in a few words. The broker counts step-ups and rejected tokens for each apart
 * (MCP, Step-Up Authorization Flow: "per resource and operation").
 *
 * Invariant: the name is bounded, and has nothing of the request but its HTTP method, its path and what the
 * protocol itself calls the operation.
 */
import { parseJson } from '../../base/text/json.ts';
import { maxLength } from '../../ipc/wire/limits.ts';
import type { ReplayableRequest } from './replayable.ts';

/** Characters that the message's own words may take; the path keeps as many. Tools have names far shorter than this. */
const maxCallLength = 128;

/** Bytes. A message beyond that carries data along, and is named by its path and headers only. */
const maxMessageLength = 256 * 1024;

/** `POST /mcp tools/call search`; `GET /reports` where the request is no message of the protocol. */
export function operationOf(request: ReplayableRequest): string {
  const { headers, body } = request;
  // Revision 2026-07-28 of the protocol: each request says its method, and the name of what it is about.
  const method = headers.get('mcp-method');
  const named = method === null ? callInBody(body) : callOf(method, headers.get('mcp-name'));
  const call = (named ?? '').slice(0, maxCallLength);
  const path = `${request.method} ${request.url.pathname}`.slice(0, maxLength.operation - maxCallLength - 1);
  return call === '' ? path : `${path} ${call}`;
}

/** Earlier revisions say it only in the JSON-RPC message, or in several messages that are sent as one. */
function callInBody(body: Uint8Array | undefined): string | undefined {
  if (body === undefined || body.byteLength > maxMessageLength) return undefined;
  const calls = [parseJson(new TextDecoder().decode(body))].flat().flatMap((message) => {
    const method = field(message, 'method');
    const params = field(message, 'params');
    if (typeof method !== 'string') return [];
    return [callOf(method, field(params, 'name') ?? field(params, 'uri'))];
  });
  return calls.length === 0 ? undefined : calls.join(', ');
}

/** A URI is named without its query, which may be somebody's secret. */
function callOf(method: string, name: unknown): string {
  return typeof name === 'string' ? `${method} ${name.replace(/[?#].*$/s, '')}` : method;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined;
}
