/**
 * What scripts of other origins may read of the answers (CORS), so that clients can run in a browser.
 *
 * Invariant: no answer that a cookie led to is readable. A token goes to a page of its client's own origin only.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLocal } from './redirect.ts';

/** True if the answer to this client may be read by a page of this origin: one that its redirects lead to. */
export function isOriginOf(origin: string, redirectUris: readonly string[]): boolean {
  const page = URL.parse(origin);
  return redirectUris.some((uri) => {
    const redirect = URL.parse(uri);
    if (page === null || redirect === null) return false;
    // The port of a loopback redirect is free (RFC 8252 §7.3).
    const isSameMachine = isLocal(origin) && isLocal(uri) && page.hostname === redirect.hostname;
    return page.origin === redirect.origin || (isSameMachine && page.protocol === redirect.protocol);
  });
}

/**
 * Registration has no cookies, and its answer belongs to who asked: every page may read it. True: the request was a
 * browser's question beforehand, and is answered.
 */
export function openRegistration({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
  if (headers.origin === undefined) return false;
  response.setHeader('access-control-allow-origin', '*');
  if (method !== 'OPTIONS') return false;
  response
    .writeHead(204, {
      'access-control-allow-methods': 'GET, POST, PUT, DELETE',
      'access-control-allow-headers': 'authorization, content-type',
      'access-control-max-age': '3600',
    })
    .end();
  return true;
}
