/**
 * Which redirects a request follows.
 *
 * Invariant: it never leaves the endpoint's origin and path, with a token or without, and follows a bounded number.
 */
import { isWithin } from '../endpoint-url.ts';
import { initOf, replayable, type ReplayableRequest } from './replayable.ts';

/** The Fetch standard follows 20; within one endpoint more than 5 is a loop. */
export const maxRedirects = 5;

export const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The request that follows a redirect within the endpoint; any other redirect is the caller's to judge. */
export function redirected(
  endpoint: URL,
  request: ReplayableRequest,
  response: Response,
): ReplayableRequest | undefined {
  const location = response.headers.get('location');
  if (request.redirect !== 'follow' || !redirectStatuses.has(response.status) || location === null)
    return undefined;
  const url = URL.parse(location, request.url.href);
  // A server behind a proxy that ends TLS may write http. Nothing is sent over http.
  if (url?.host === endpoint.host && endpoint.protocol === 'https:') url.protocol = 'https:';
  if (!url || !isWithin(endpoint, url)) return undefined;
  // Fetch standard, HTTP-redirect fetch, step 12: these go on as GET. A slash at the end is another spelling only.
  const { status } = response;
  if (withoutSlash(url) === withoutSlash(request.url) && status !== 303) return { ...request, url };
  const asGet =
    (status === 303 && request.method !== 'HEAD') ||
    ((status === 301 || status === 302) && request.method === 'POST');
  return asGet ? { ...withoutBody(request), url } : { ...request, url };
}

const withoutSlash = ({ pathname, search }: URL): string => pathname.replace(/\/$/, '') + search;

function withoutBody(request: ReplayableRequest): ReplayableRequest {
  const headers = new Headers(request.headers);
  for (const name of [
    'content-encoding',
    'content-language',
    'content-location',
    'content-type',
    'content-length',
  ])
    headers.delete(name);
  return { ...request, method: 'GET', body: undefined, headers };
}

/** `fetch` for a server that wants no token. */
export function fetchWithin(
  endpoint: URL,
  fetch: typeof globalThis.fetch,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    let request = await replayable(url, init);
    for (let redirects = 0; ; redirects += 1) {
      const response = await fetch(request.url.href, initOf(request));
      const next = redirects < maxRedirects ? redirected(endpoint, request, response) : undefined;
      if (!next) return response;
      // Frees the connection that the answer came on.
      await response.body?.cancel();
      request = next;
    }
  };
}
