/**
 * What each request of the stateless revision says of its client (`_meta`), put on and taken off.
 *
 * Invariant: messages are copied, never changed; keys of others stay as they are.
 */
import { fieldsOf, type Fields } from './json.ts';
import type { JSONRPCRequest } from './messages.ts';

const PROTOCOL_VERSION_META_KEY = 'io.modelcontextprotocol/protocolVersion';
const CLIENT_INFO_META_KEY = 'io.modelcontextprotocol/clientInfo';
const CLIENT_CAPABILITIES_META_KEY = 'io.modelcontextprotocol/clientCapabilities';
const LOG_LEVEL_META_KEY = 'io.modelcontextprotocol/logLevel';
export const SERVER_INFO_META_KEY = 'io.modelcontextprotocol/serverInfo';
export const SUBSCRIPTION_ID_META_KEY = 'io.modelcontextprotocol/subscriptionId';

/** The stateless revision that the bridge speaks. */
export const statelessRevision = '2026-07-28';

/** The stateful revision that the bridge asks for. */
export const statefulRevision = '2025-11-25';

/** All of them, the newest first. */
export const statefulRevisions = [
  statefulRevision,
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
] as const;

/** What a client says of itself. */
export interface ClientWords {
  readonly info: unknown;
  readonly capabilities: Fields;
  readonly logLevel?: unknown;
}

function metaOf({ params }: JSONRPCRequest): Fields {
  return fieldsOf(fieldsOf(params)['_meta']);
}

/** The revision that the request itself names, as those of the stateless revisions do. Revisions are dates. */
export function namedRevision(request: JSONRPCRequest): string | undefined {
  const version = metaOf(request)[PROTOCOL_VERSION_META_KEY];
  return typeof version === 'string' ? version : undefined;
}

export function isStateless(request: JSONRPCRequest): boolean {
  return (namedRevision(request) ?? '') >= statelessRevision;
}

export function clientWordsOf(request: JSONRPCRequest): ClientWords {
  const meta = metaOf(request);
  return {
    info: meta[CLIENT_INFO_META_KEY] ?? { name: 'unknown', version: '0' },
    capabilities: fieldsOf(meta[CLIENT_CAPABILITIES_META_KEY]),
    logLevel: meta[LOG_LEVEL_META_KEY],
  };
}

/** The request as the stateless revision wants it. */
export function enveloped(
  request: JSONRPCRequest,
  { info, capabilities, logLevel }: ClientWords,
): JSONRPCRequest {
  const meta = {
    ...metaOf(request),
    [PROTOCOL_VERSION_META_KEY]: statelessRevision,
    [CLIENT_INFO_META_KEY]: info,
    [CLIENT_CAPABILITIES_META_KEY]: capabilities,
    ...(logLevel === undefined ? {} : { [LOG_LEVEL_META_KEY]: logLevel }),
  };
  return { ...request, params: { ...request.params, _meta: meta } };
}

/** The request as the stateful revisions want it. */
export function bare(request: JSONRPCRequest): JSONRPCRequest {
  const {
    [PROTOCOL_VERSION_META_KEY]: _version,
    [CLIENT_INFO_META_KEY]: _info,
    [CLIENT_CAPABILITIES_META_KEY]: _capabilities,
    [LOG_LEVEL_META_KEY]: _level,
    ...meta
  } = metaOf(request);
  const { _meta, inputResponses: _responses, requestState: _state, ...params } = fieldsOf(request.params);
  const rest = Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params;
  return { ...request, params: rest };
}
