/**
 * The header that an API key goes in, and the scheme before the key.
 *
 * Invariant: a key travels in a header that does nothing but authorize. A header that changes where a request goes,
 * what it means or how it is carried is refused, whatever the user typed.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';

/** Names of headers, one after the other. */
const names = (text: string): readonly string[] => text.split(' ');

/** Where the request goes, and from whom it comes. */
const addressing = names(
  'host origin referer forwarded via from date user-agent dnt x-real-ip x-client-ip x-original-url x-rewrite-url',
);

/** How it is carried (RFC 9110 §7.6.1). */
const carrying = names(
  'connection keep-alive te trailer upgrade upgrade-insecure-requests expect http2-settings max-forwards early-data alt-svc alt-used priority',
);

/** What it means, and what belongs to it. */
const meaning = names(
  'cookie cookie2 set-cookie set-cookie2 www-authenticate location link refresh range pragma cache-control prefer depth destination overwrite if timeout lock-token last-event-id mcp idempotency-key x-http-method x-method-override x-request-id traceparent tracestate baggage',
);

const refusedNames: ReadonlySet<string> = new Set([...addressing, ...carrying, ...meaning]);

/** Families of such headers. */
const refusedFamilies = [
  'content-',
  'mcp-',
  'proxy-',
  'sec-',
  'transfer-',
  'accept',
  'access-control-',
  'if-',
  'x-forwarded-',
  'x-http-method-',
] as const;

/** Throws `invalid_request` for a header that does more than authorize. */
export function requireApiKeyHeader(header: string): void {
  const name = header.toLowerCase();
  if (!refusedNames.has(name) && !refusedFamilies.some((family) => name.startsWith(family))) return;
  throw new KeyturnError('invalid_request', `An API key can't go in the header ${quoted(header)}.`, {
    rule: 'A key goes in a header that only authorizes: never Host, Cookie, Content-*, Mcp-*, or another one that changes the request',
    hint: 'Give the header that the server’s documentation names for its keys, e.g. Authorization or X-Api-Key.',
  });
}
