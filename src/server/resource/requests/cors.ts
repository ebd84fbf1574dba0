/**
 * What lets pages in browsers use this server (Fetch standard, CORS protocol): the inspector and web clients.
 *
 * Invariant: no answer allows credentials, so a page has only what its own token gives it. A preflight request passes
 * no token and reaches no handler.
 */
import type { Answer, IncomingRequest } from '../base/incoming.ts';

/** Any origin, or these. */
export type Origins = '*' | readonly string[];

/** Headers of answers that a client needs and a page doesn't see otherwise. */
const exposed = 'WWW-Authenticate, Mcp-Session-Id, Mcp-Protocol-Version, Retry-After, DPoP-Nonce';

/** `*` doesn't stand for Authorization, so what a page asks for is repeated, if it is a list of names. */
const headerNames = /^[!#$%&'*+.^_`|~\w-]+(?:\s*,\s*[!#$%&'*+.^_`|~\w-]+)*$/;
const maxHeaderNames = 1024;

/** The answer to a preflight request; undefined for any other request. */
export function preflight({ method, headers }: IncomingRequest, origins: Origins): Answer | undefined {
  const asked = headers.get('access-control-request-method');
  if (method !== 'OPTIONS' || asked === null || !headers.has('origin')) return undefined;
  const names = headers.get('access-control-request-headers') ?? '';
  const isList = names.length <= maxHeaderNames && headerNames.test(names);
  return {
    status: 204,
    headers: {
      ...corsHeaders(headers, origins),
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
      ...(isList ? { 'access-control-allow-headers': names } : {}),
      'access-control-max-age': '7200',
      'cache-control': 'no-store',
    },
    body: null,
  };
}

/** For the answer to any request that a page may have sent. */
export function corsHeaders(headers: Headers, origins: Origins): Record<string, string> {
  const origin = headers.get('origin');
  const expose = { 'access-control-expose-headers': exposed };
  if (origins === '*') return origin === null ? {} : { 'access-control-allow-origin': '*', ...expose };
  const isAllowed = origin !== null && origins.includes(origin);
  return { vary: 'Origin', ...(isAllowed ? { 'access-control-allow-origin': origin, ...expose } : {}) };
}
