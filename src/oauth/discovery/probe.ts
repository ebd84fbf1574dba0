/**
 * Sends a request without a token to a protected server, to read its challenge.
 *
 * Invariant: no request has an effect at the server or contains a credential, and no body is read.
 */
import { KeyturnError } from '../../base/errors.ts';
import { bearerChallenge } from './challenge.ts';
import type { BearerChallenge } from './challenge.ts';
import { deadline, isTransient, sendForHead, unreachableReply } from '../base/http.ts';
import type { Http, HttpReply } from '../base/http.ts';

const unreachable = 'protected_server_unreachable';

export interface Probe {
  readonly status: number;
  /** Of a 401 or 403 only. */
  readonly challenge?: BearerChallenge;
}

/** True for the statuses that ask for authorization: 401, and 403 in the earlier revision. */
export function demandsAuthorization(status: number): boolean {
  return status === 401 || status === 403;
}

/** 10 s, as for metadata: the probe waits only for the head of a response. */
const probeTimeout = 10_000;

/** The types of both answers that a server may send; a server may refuse a request that doesn't accept both. */
const accept = 'application/json, text/event-stream';

/** The statuses of servers that check the method before the authorization and don't support GET here. */
const unknownMethod: readonly number[] = [400, 404, 405, 406, 415, 501];

/**
 * Sends unauthenticated requests to get the server's challenge. First a GET, which changes nothing. If the server
 * doesn't support GET, or answers it without authorization, a `ping` follows by POST, which has no effect either.
 * Redirects are followed within the origin: some servers redirect to the URL with a slash at its end. Throws
 * Unreachable.
 */
export async function probe(endpoint: string, http: Http): Promise<Probe> {
  const first = await probeWith({ url: endpoint, method: 'GET', headers: { accept } }, http);
  const isOpen = first.status >= 200 && first.status < 300;
  if (!isOpen && !unknownMethod.includes(first.status)) return first;
  const second = await probeWith(
    {
      url: endpoint,
      method: 'POST',
      headers: { accept, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    },
    http,
  );
  // If GET needs no authorization, only a POST that asks for it counts instead.
  return isOpen && !demandsAuthorization(second.status) ? first : second;
}

/**
 * Like `probe`, at the endpoint as the person typed it. If that asks for no authorization, it tries again with a slash
 * at the end added or removed: the canonical URI is the same for both, and the server may only know the other one.
 */
export async function probeEitherSpelling(
  typed: string,
  http: Http,
): Promise<Probe & { readonly at: string }> {
  const first = { at: typed, ...(await probe(typed, http)) };
  const other = otherSpelling(typed);
  if (demandsAuthorization(first.status) || other === undefined) return first;
  try {
    const second = { at: other, ...(await probe(other, http)) };
    return demandsAuthorization(second.status) ? second : first;
  } catch (error) {
    // The other spelling failed, but the typed one did answer.
    if (error instanceof KeyturnError) return first;
    throw error;
  }
}

/** With a slash at its end, or without. Undefined for a server's root, which has one spelling. */
function otherSpelling(url: string): string | undefined {
  if (new URL(url).pathname === '/') return undefined;
  return url.endsWith('/') ? url.replace(/\/+$/, '') : `${url}/`;
}

interface ProbeRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string;
}

type Head = Omit<HttpReply, 'text'>;

/** 3, as for metadata. */
const maxRedirects = 3;

async function probeWith(request: ProbeRequest, http: Http): Promise<Probe> {
  const signal = deadline(http, probeTimeout);
  const first = await headOf({ ...request, signal }, http);
  let [url, head]: [string, Head] = [request.url, first];
  for (let redirects = 0; redirects < maxRedirects; redirects += 1) {
    const target = redirectTarget({ ...request, url }, head);
    if (target === undefined) break;
    [url, head] = [target, await headOf({ ...request, url: target, signal }, http)];
  }
  // If a redirect led to another path that asks for no authorization (such as a web page), the first status counts.
  const counts = demandsAuthorization(head.status) || isSamePlace(url, request.url);
  return counts ? { status: head.status, ...challengeOf(head) } : { status: first.status };
}

async function headOf(request: ProbeRequest & { readonly signal: AbortSignal }, http: Http): Promise<Head> {
  const outgoing = { ...request, what: 'the protected server' };
  const reply = await sendForHead(http, outgoing, unreachable);
  // RFC 9110 §15.6.2: 501 says that the server doesn't support the method, so it isn't temporary.
  if (isTransient(reply.status) && reply.status !== 501)
    throw unreachableReply(http, reply, outgoing, unreachable);
  return reply;
}

/**
 * RFC 9110 §15.4: 307 and 308 keep the method. After the others a client may change it, so they are followed for GET
 * only.
 */
function redirectTarget({ url, method }: ProbeRequest, { status, headers }: Head): string | undefined {
  const followed = method === 'GET' ? [301, 302, 303, 307, 308] : [307, 308];
  const location = headers.get('location');
  if (!followed.includes(status) || location === null) return undefined;
  const target = URL.parse(location, url);
  return target?.origin === new URL(url).origin ? target.href : undefined;
}

/** Compares without the slash at the end and without the query. */
function isSamePlace(one: string, other: string): boolean {
  const [a, b] = [one, other].map((url) => new URL(url).pathname.replace(/\/+$/, ''));
  return a === b;
}

/** Versioning 3: a 403 may contain the challenge too. With another status the header is ignored. */
function challengeOf(reply: Head): { challenge?: BearerChallenge } {
  if (!demandsAuthorization(reply.status)) return {};
  const challenge = bearerChallenge(reply.headers.get('www-authenticate') ?? '');
  return challenge === undefined ? {} : { challenge };
}
