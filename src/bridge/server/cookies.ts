/**
 * Cookies that the server sets, as balancers do that lead each request of a session to the same machine.
 *
 * Invariant: kept in memory, within bounds; sent to the server's own origin and to no other. The client never sees one.
 */
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
  for (const text of headers.getSetCookie()) {
    const [pair = '', ...attributes] = text.split(';');
    const equals = pair.indexOf('=');
    const name = pair.slice(0, Math.max(equals, 0)).trim();
    const value = pair.slice(equals + 1).trim();
    if (name === '' || name.length + value.length > maxCookie) continue;
    const said = attributesIn(attributes);
    const path = said.get('path');
    // RFC 6265 §5.1.4: else the folder of the request's path.
    const where = path?.startsWith('/') ? path : pathname.slice(0, pathname.lastIndexOf('/')) || '/';
    const end = endOf(said);
    const key = `${name} ${where}`;
    cookies.delete(key);
    if (end > Date.now()) cookies.set(key, { value, path: where, until: end });
    const [oldest] = cookies.keys();
    if (cookies.size > maxCookies && oldest !== undefined) cookies.delete(oldest);
  }
}

/** RFC 6265 §5.2. The last of a name is valid. */
function attributesIn(attributes: readonly string[]): ReadonlyMap<string, string> {
  const pairs = attributes.map((each) => each.split('='));
  return new Map(pairs.map(([name = '', ...value]) => [name.trim().toLowerCase(), value.join('=').trim()]));
}

/** RFC 6265 §5.2.1, §5.2.2: an attribute that can't be read is ignored. `Max-Age` comes first. */
function endOf(said: ReadonlyMap<string, string>): number {
  const seconds = said.get('max-age') ?? '';
  if (/^-?\d+$/.test(seconds)) return Date.now() + Number(seconds) * 1000;
  const end = Date.parse(said.get('expires') ?? '');
  return Number.isNaN(end) ? Infinity : end;
}

/** RFC 6265 §5.1.4. */
function isUnder(path: string, { pathname }: URL): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}
