/**
 * Sends a request without a token to an MCP server, to read its challenge.
 *
 * Invariant: no request contains a credential, and no body is read. At most one request of a discovery could have an
 * effect: an `initialize` by POST, whose session is ended at once.
 */
import { KeyturnError } from '../../base/errors.ts';
import { bearerChallenge } from './challenge.ts';
import type { BearerChallenge } from './challenge.ts';
import { deadline, isSuccess, isTransient, sendForHead, unreachableReply } from '../base/http.ts';
import type { Http, HttpReply } from '../base/http.ts';
import { withoutEndSlashes } from '../../base/text/below-path.ts';

const unreachable = 'mcp_server_unreachable';

export interface Probe {
  readonly status: number;
  /** Of a 401 or 403 only. */
  readonly challenge?: BearerChallenge;
}

/** A probe, and the spelling of the endpoint that it is about. */
export interface PlacedProbe extends Probe {
  readonly at: string;
  /** The one POST of a discovery was sent. */
  readonly isPosted: boolean;
  /** Why the POST brought no answer, if the GET was not answered with success. */
  readonly trouble?: KeyturnError;
}

/** True for the statuses that ask for authorization: 401, and 403 in the earlier revision. */
export function demandsAuthorization(status: number): boolean {
  return status === 401 || status === 403;
}

/** True if the challenge says where the metadata is, even in a form that can't be read. */
export function namesMetadata(challenge: BearerChallenge | undefined): boolean {
  return challenge?.resourceMetadata !== undefined || challenge?.isUnreadable === true;
}

/** 10 s, as for metadata: the probe waits only for the head of a response. */
const postTimeout = 10_000;

/** 5 s for a GET, which some servers never answer: the POST that follows counts more. */
const getTimeout = 5000;

/** The types of both answers that a server may send; a server may refuse a request that doesn't accept both. */
const accept = 'application/json, text/event-stream';

/** The protocol's first request. A server that doesn't know the revision answers with its own. */
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'Keyturn', version: '1' },
  },
});

/** What a request brought: the head of a response, or why there is none. */
interface Outcome {
  readonly head?: Probe;
  readonly trouble?: KeyturnError;
}

const demanding = ({ head }: Outcome): Probe | undefined =>
  head && demandsAuthorization(head.status) ? head : undefined;

/**
 * Asks the endpoint as the user typed it for its challenge. First a GET, which changes nothing. The protocol is POST,
 * so that no other answer to the GET ends the search: an `initialize` by POST follows. If the server asks for no
 * authorization there, a GET tries the endpoint with a slash at its end added or removed, since the canonical URI is the
 * same for both. Redirects are followed within the origin. Throws Unreachable.
 */
export async function probe(typed: string, http: Http): Promise<PlacedProbe> {
  const first = await outcomeOf(probeByGet(typed, http));
  const found = demanding(first);
  if (found) return { ...found, at: typed, isPosted: false };
  const other = otherSpelling(typed);
  const lookAtOther = async (): Promise<Outcome> =>
    other === undefined ? {} : outcomeOf(probeByGet(other, http));
  // Nothing is at the typed spelling: the one POST goes to the other one, if something is there.
  const isMissing = first.head?.status === 404;
  const before = isMissing ? await lookAtOther() : {};
  const isOther = before.head !== undefined && before.head.status !== 404;
  const at = isOther ? (other ?? typed) : typed;
  const early = demanding(before);
  if (early) return { ...early, at, isPosted: false };
  const posted = await outcomeOf(probeByPost(at, http));
  const late = demanding(posted);
  if (late) return { ...late, at, isPosted: true };
  const after = isMissing ? {} : await lookAtOther();
  return unprotected(typed, { first, posted, after, other });
}

interface Outcomes {
  readonly first: Outcome;
  readonly posted: Outcome;
  /** Of the other spelling. */
  readonly after: Outcome;
  readonly other: string | undefined;
}

/** Where neither request to the typed spelling was refused. An open answer to the GET counts before that to the POST. */
function unprotected(typed: string, { first, posted, after, other = typed }: Outcomes): PlacedProbe {
  const demand = demanding(after);
  if (demand) return { ...demand, at: other, isPosted: true };
  const isOpen = first.head !== undefined && isSuccess(first.head.status);
  const head = isOpen ? first.head : (posted.head ?? first.head);
  if (head) return { ...head, at: typed, isPosted: true, trouble: isOpen ? undefined : posted.trouble };
  throw (
    first.trouble ??
    posted.trouble ??
    new TypeError('a request ended without an answer and without a refusal')
  );
}

async function outcomeOf(probing: Promise<Probe>): Promise<Outcome> {
  try {
    return { head: await probing };
  } catch (error) {
    if (error instanceof KeyturnError && error.reason === unreachable) return { trouble: error };
    throw error;
  }
}

function probeByGet(url: string, http: Http): Promise<Probe> {
  return probeWith({ url, method: 'GET', headers: { accept }, timeout: getTimeout }, http);
}

/** Asks as a client of the protocol does. Ends the session that an open server begins. */
export async function probeByPost(url: string, http: Http): Promise<Probe> {
  const headers = { accept, 'content-type': 'application/json' };
  return probeWith({ url, method: 'POST', headers, body: initialize, timeout: postTimeout }, http);
}

/** With a slash at its end, or without. Undefined for a server's root, which has one spelling. */
function otherSpelling(typed: string): string | undefined {
  const url = new URL(typed);
  if (url.pathname === '/') return undefined;
  url.pathname = url.pathname.endsWith('/') ? withoutEndSlashes(url.pathname) : `${url.pathname}/`;
  return url.href;
}

interface ProbeRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** 3, as for metadata. */
const maxRedirects = 3;

async function probeWith(
  { timeout, ...request }: ProbeRequest & { readonly timeout: number },
  http: Http,
): Promise<Probe> {
  const signal = deadline(http, timeout);
  const first = await headOf({ ...request, signal }, http);
  let [url, head]: [string, HttpReply] = [request.url, first];
  for (let redirects = 0; redirects < maxRedirects; redirects += 1) {
    const target = redirectTarget({ ...request, url }, head);
    if (target === undefined) break;
    [url, head] = [target, await headOf({ ...request, url: target, signal }, http)];
  }
  await endSession(url, head, http);
  // If a redirect led to another path that asks for no authorization (such as a web page), the first status counts.
  const counts = demandsAuthorization(head.status) || isSamePlace(url, request.url);
  return counts ? { status: head.status, challenge: challengeOf(head) } : { status: first.status };
}

async function headOf(
  request: ProbeRequest & { readonly signal: AbortSignal },
  http: Http,
): Promise<HttpReply> {
  const outgoing = { ...request, what: 'the MCP server' };
  const reply = await sendForHead(http, outgoing, unreachable);
  // RFC 9110 §15.6.2: 501 says that the server doesn't support the method, so it isn't temporary.
  if (isTransient(reply.status) && reply.status !== 501)
    throw unreachableReply(http, reply, outgoing, unreachable);
  // A gateway (Cloudflare Access) redirects to its page, and names the metadata beside it: that is a 401.
  const isRedirect = reply.status >= 300 && reply.status < 400;
  return isRedirect && namesMetadata(challengeIn(reply)) ? { ...reply, status: 401 } : reply;
}

/** MCP, Session Management: an open server may have begun a session, which nothing needs. */
async function endSession(url: string, { status, headers }: HttpReply, http: Http): Promise<void> {
  const session = headers.get('mcp-session-id');
  if (session === null || !isSuccess(status)) return;
  const headersOfEnd = { 'mcp-session-id': session };
  const signal = deadline(http, getTimeout);
  const outgoing = { url, what: 'the MCP server', method: 'DELETE', headers: headersOfEnd, signal } as const;
  await sendForHead(http, outgoing, unreachable).catch(() => undefined);
}

/** RFC 9110 §15.4: only 307 and 308 keep the method, so the others are followed for GET only. */
function redirectTarget({ url, method }: ProbeRequest, { status, headers }: HttpReply): string | undefined {
  const followed = method === 'GET' ? [301, 302, 303, 307, 308] : [307, 308];
  const location = headers.get('location');
  if (!followed.includes(status) || location === null) return undefined;
  const target = URL.parse(location, url);
  return target?.origin === new URL(url).origin ? target.href : undefined;
}

/** Compares without the slash at the end and without the query. */
function isSamePlace(one: string, other: string): boolean {
  const [a, b] = [one, other].map((url) => withoutEndSlashes(new URL(url).pathname));
  return a === b;
}

/** In the earlier revision a 403 may contain the challenge too. With another status the header is ignored. */
function challengeOf(reply: HttpReply): BearerChallenge | undefined {
  return demandsAuthorization(reply.status) ? challengeIn(reply) : undefined;
}

function challengeIn({ headers }: HttpReply): BearerChallenge | undefined {
  return bearerChallenge(headers.get('www-authenticate') ?? '');
}
