/**
 * Requests at the loopback listener: which one is the reply that a sign-in waits for.
 *
 * Invariant: only a GET of a page in a tab of its own, with the right Host, path and exactly one state, is one.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { constantTimeEqual } from '../../base/constant-time.ts';

/** Longest request target we look at: a code and a state are far shorter. */
const maxTargetLength = 8192;

/** An expected reply: where it must arrive, and who hears of one without a state. */
export interface AwaitedReply {
  readonly target: URL;
  readonly onStateless: (error: string) => void;
}

/** RFC 6749 §10.12: exactly one state, equal to one that we wait for; compared in constant time. */
export function expectedState(
  { url = '' }: IncomingMessage,
  expected: ReadonlyMap<string, AwaitedReply>,
): string | undefined {
  const start = url.indexOf('?');
  if (start < 0 || url.length > maxTargetLength) return undefined;
  const [given, ...more] = new URLSearchParams(url.slice(start)).getAll('state');
  if (given === undefined || more.length > 0) return undefined;
  return [...expected.keys()].find((state) => constantTimeEqual(given, state));
}

/**
 * RFC 6749 §4.1.2.1 wants the state in an error too, and some servers leave it out. Any page can send such an answer, so
 * it is reported and never taken. Returns its error code, empty if it has none; undefined for any other request.
 */
export function reportStateless(
  request: IncomingMessage,
  expected: ReadonlyMap<string, AwaitedReply>,
): string | undefined {
  if ((request.url ?? '').length > maxTargetLength) return undefined;
  const meant = [...expected.values()].filter(({ target }) => {
    const query = matching(request, target)?.searchParams;
    return query && isStateless(query);
  });
  const [first] = meant;
  if (!first) return undefined;
  const error = matching(request, first.target)?.searchParams.get('error') ?? '';
  for (const { onStateless } of meant) onStateless(error);
  return error;
}

/** Absent, empty, or what a server's program writes for a value that it lost. */
const isStateless = (query: URLSearchParams): boolean =>
  query.getAll('state').every((state) => lostStates.has(state));

const lostStates: ReadonlySet<string> = new Set(['', 'undefined', 'null']);

/** The redirect's URL when method, Host and path are right, and a tab of its own asks for it. */
export function matching(request: IncomingMessage, target: URL): URL | undefined {
  if (request.method !== 'GET' || !isTopLevel(request.headers)) return undefined;
  // DNS rebinding: a page under a foreign name reaches us only with that name in Host.
  if (request.headers.host !== target.host) return undefined;
  const path = request.url ?? '';
  const url = URL.parse(path, target.origin);
  // RFC 9700 §4.4.2: at the redirect URI of this very sign-in, not of another one at this port.
  return url?.origin === target.origin && url.pathname === target.pathname ? url : undefined;
}

/** Fetch Metadata: false for a frame, an image or a script of another page. Older browsers send no such header. */
function isTopLevel(headers: IncomingHttpHeaders): boolean {
  const { 'sec-fetch-mode': mode = 'navigate', 'sec-fetch-dest': destination = 'document' } = headers;
  return mode === 'navigate' && destination === 'document' && !isAhead(headers);
}

/** A browser that loads a page before anybody wants to see it. */
export const isAhead = (headers: IncomingHttpHeaders): boolean => headers['sec-purpose'] !== undefined;
