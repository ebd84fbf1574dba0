/**
 * Asking a protected server without a token, to see what it answers.
 *
 * Invariant: nothing that is sent has an effect at the server or carries a credential, and no body is read.
 */
import { bearerChallenge } from './challenge.ts';
import type { BearerChallenge } from './challenge.ts';
import { deadline, isTransient, sendForHead, unreachableReply } from './http.ts';
import type { Http, Reply } from './http.ts';

const unreachable = 'protected_server_unreachable';

export interface Probe {
  readonly status: number;
  /** Of a 401 or 403 only. */
  readonly challenge?: BearerChallenge;
}

/** The two answers that ask for authorization: 401, and 403 in the earlier revision. */
export function demandsAuthorization(status: number): boolean {
  return status === 401 || status === 403;
}

/** 10 s, as for metadata: only the head of an answer is waited for. */
const probeTimeLimit = 10_000;

/** What either transport of the protocol may answer with; a server may refuse a request that takes less. */
const accept = 'application/json, text/event-stream';

/** What servers answer that know no GET here, before they think of authorization. */
const unknownMethod: readonly number[] = [400, 404, 405, 406, 415, 501];

/**
 * Unauthenticated requests, to see the server's challenge. GET first: it changes nothing. Where GET is
 * not known, or open to all, a `ping` is POSTed, which has no effect either. Redirects are reported as
 * they are. Throws Unreachable.
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
  // An open GET says "no authorization" unless the POST asks for it.
  return isOpen && !demandsAuthorization(second.status) ? first : second;
}

interface ProbeRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string;
}

async function probeWith(request: ProbeRequest, http: Http): Promise<Probe> {
  const outgoing = { ...request, what: 'the protected server', signal: deadline(http, probeTimeLimit) };
  const reply = await sendForHead(http, outgoing, unreachable);
  // RFC 9110 §15.6.2: 501 says that the method isn't known here, and won't pass by itself.
  if (isTransient(reply.status) && reply.status !== 501)
    throw unreachableReply(http, reply, outgoing, unreachable);
  return { status: reply.status, ...challengeOf(reply) };
}

/** Versioning 3: 403 may carry the challenge too. With another status it is about something else. */
function challengeOf(reply: Omit<Reply, 'text'>): { challenge?: BearerChallenge } {
  if (!demandsAuthorization(reply.status)) return {};
  const challenge = bearerChallenge(reply.headers.get('www-authenticate') ?? '');
  return challenge === undefined ? {} : { challenge };
}
