/**
 * Cookies that the server sets, as balancers do that lead each request of a session to the same machine.
 *
 * Invariant: kept in memory, within bounds; sent to the server's own origin and to no other. The client never sees one.
 */
import { getSetCookies } from 'undici';

/** RFC 6265 §6.1 asks of a program for 50 of 4,096 bytes at least. */
const maxCookies = 50;
const maxCookie = 4096;

interface Cookie {
  readonly value: string;
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export function withCookies(origin: string, fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  const cookies = new Map<string, Cookie>();
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== origin) return fetch(input, init);
    const headers = new Headers(init?.headers);
    const known = [...cookies].filter(([, { path, until }]) => until > Date.now() && isUnder(path, url));
    const own = headers.get('cookie');
    const sent = [
      ...(own === null ? [] : [own]),
      ...known.map(([key, { value }]) => `${key.slice(0, key.indexOf(' '))}=${value}`),
    ];
    if (sent.length > 0) headers.set('cookie', sent.join('; '));
    const response = await fetch(input, { ...init, headers });
    keep(cookies, response, url);
    return response;
  };
}

function keep(cookies: Map<string, Cookie>, { headers }: Response, { pathname }: URL): void {
  for (const { name, value, path, maxAge, expires } of getSetCookies(headers as never)) {
    if (name.length + value.length > maxCookie) continue;
    // RFC 6265 §5.1.4: else the folder of the request's path.
    const where = path?.startsWith('/') ? path : pathname.slice(0, pathname.lastIndexOf('/')) || '/';
    const end =
      maxAge === undefined
        ? expires === undefined || expires === null
          ? Infinity
          : new Date(expires).getTime()
        : Date.now() + maxAge * 1000;
    const key = `${name} ${where}`;
    cookies.delete(key);
    if (end > Date.now()) cookies.set(key, { value, path: where, until: end });
    const [oldest] = cookies.keys();
    if (cookies.size > maxCookies && oldest !== undefined) cookies.delete(oldest);
  }
}

/** RFC 6265 §5.1.4. */
function isUnder(path: string, { pathname }: URL): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}
