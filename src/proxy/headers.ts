/**
 * Which headers pass, in both directions.
 *
 * Invariant: what belongs to one connection stays on it (RFC 9110 §7.6.1). Authorization and cookies of the client
 * don't reach the server, and challenges and cookies of the server don't reach the client.
 */

/** Of one connection, whatever `Connection` says. */
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
];

const notSent = new Set([
  ...hopByHop,
  // Credentials.
  'authorization',
  'dpop',
  'cookie',
  'cookie2',
  // Said again for the server behind.
  'host',
  'content-length',
  'expect',
  // Encoded answers would be decoded on their way.
  'accept-encoding',
  // Where the client stands is nobody's business there, and servers believe these.
  'origin',
  'referer',
  'forwarded',
  'via',
  'x-real-ip',
]);

const notAnswered = new Set([
  ...hopByHop,
  // Credentials, and what would make a client look for some.
  'authorization',
  'authentication-info',
  'proxy-authentication-info',
  'www-authenticate',
  'dpop-nonce',
  'set-cookie',
  'set-cookie2',
  // Was undone on the way.
  'content-encoding',
  // These speak of the server's origin, which this address is not.
  'alt-svc',
  'strict-transport-security',
  'clear-site-data',
]);

const notSentPrefixes = ['x-forwarded-', 'proxy-', 'sec-'];

/** No page may read an answer, whatever the server allows. */
const notAnsweredPrefixes = ['access-control-', 'proxy-'];

/** `raw`: names and values in turn, as Node gives them. */
export function headersToSend(raw: readonly string[]): Headers {
  const headers = new Headers();
  const named = namedByConnection(raw);
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase();
    if (notSent.has(name) || named.has(name) || begins(name, notSentPrefixes)) continue;
    headers.append(name, raw[index + 1] ?? '');
  }
  headers.set('accept-encoding', 'identity');
  return headers;
}

export function headersToAnswer(response: Pick<Response, 'headers'>): Record<string, string> {
  const { headers } = response;
  const named = namedIn(headers.get('connection') ?? '');
  const wasDecoded = headers.has('content-encoding');
  const passed = [...headers].filter(
    ([name]) =>
      !notAnswered.has(name) &&
      !named.has(name) &&
      !begins(name, notAnsweredPrefixes) &&
      !(wasDecoded && name === 'content-length'),
  );
  return Object.fromEntries(passed);
}

function namedByConnection(raw: readonly string[]): Set<string> {
  const values = raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === 'connection');
  return namedIn(values.join(','));
}

/** Headers that the sender declares to belong to this connection only. */
function namedIn(connection: string): Set<string> {
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}

const begins = (name: string, prefixes: readonly string[]): boolean =>
  prefixes.some((prefix) => name.startsWith(prefix));
