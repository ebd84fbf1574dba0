/**
 * All requests of the OAuth client go through this file. Size and time are bounded; fetch follows no redirect.
 *
 * Invariant: every request goes to a URL that `requireSecureUrl` accepts, at most `maxBytes` of
 * an answer are read, and a failed connection becomes `Unreachable` without the library's error,
 * which could hold a request's secrets. A failure after which the server may have served the request
 * all the same is told apart (`ResponseLost`): a refresh token may then be spent.
 */
import { KeyturnError, quoted, Unreachable } from '../../base/errors.ts';
import { retryAfterSeconds } from './http-time.ts';
import { requireSecureUrl } from './secure-url.ts';
import type { ServerClocks } from './server-clock.ts';

export interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  /** A 3xx comes back as it is: each caller decides about redirects. */
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
}

/** The parts of a response that are read here; undici's and the platform's `Response` both fit. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: (AsyncIterable<Uint8Array> & { cancel(): Promise<void> }) | null;
}

export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** Everything the client role needs from outside. */
export interface Http {
  readonly fetch: Fetch;
  /** Milliseconds, steady: for lifetimes and waits. */
  now(): number;
  /** Milliseconds since the epoch by the wall clock: for what is kept, and for dates that servers write. */
  wall(): number;
  /** Gets the time of each server's clock; absent: every clock counts as right. */
  readonly serverClocks?: ServerClocks;
  /** By issuer and client id, the form of a client secret that was taken (secret-form.ts); absent: nothing is remembered. */
  readonly secretForms?: Map<string, string>;
  /** True: http is accepted for loopback hosts. */
  readonly allowInsecureLoopback: boolean;
  /** Header that tells servers of the earlier revision which one is spoken, e.g. `2025-03-26`; absent: none. */
  readonly protocolVersion?: { readonly header: string; readonly value: string };
  /** A signal that aborts after so many milliseconds; `AbortSignal.timeout` unless given. */
  deadline?(milliseconds: number): AbortSignal;
}

/** No answer, or not the server's own, to a request that it may have received and served. */
export class ResponseLost extends Unreachable {}

export type UnreachableReason = 'protected_server_unreachable' | 'authorization_server_unreachable';

export interface HttpRequest {
  readonly url: string;
  /** Names the target in messages: "the token endpoint". */
  readonly what: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** An answer, read to its end or to the bound. */
export interface HttpReply {
  readonly status: number;
  readonly headers: FetchResponse['headers'];
  /** Text of the body; undefined if it was too long or is not UTF-8. */
  readonly text: string | undefined;
  /** Secrets that the request carried, in each form in which the server saw them: no message repeats them. */
  readonly secretsSent?: readonly string[];
}

/** 256 KiB: the design's bound for metadata; token answers are far smaller. */
const maxBytes = 256 * 1024;

export function deadline(http: Http, milliseconds: number): AbortSignal {
  return http.deadline?.(milliseconds) ?? AbortSignal.timeout(milliseconds);
}

/** Sends and reads the answer, of any status. Throws insecure_url, or Unreachable with `reason`. */
export async function send(http: Http, outgoing: HttpRequest, reason: UnreachableReason): Promise<HttpReply> {
  const response = await open(http, outgoing, reason);
  try {
    return { status: response.status, headers: response.headers, text: await boundedText(response.body) };
  } catch (error) {
    throw asUnreachable(error, outgoing, reason);
  }
}

/** As `send`, but the body is thrown away unread: for an endpoint that may stream without end. */
export async function sendForHead(
  http: Http,
  outgoing: HttpRequest,
  reason: UnreachableReason,
): Promise<Omit<HttpReply, 'text'>> {
  const response = await open(http, outgoing, reason);
  // Only the head of the response is needed; an error while its body closes doesn't matter.
  await response.body?.cancel().catch(() => undefined);
  return { status: response.status, headers: response.headers };
}

async function open(http: Http, outgoing: HttpRequest, reason: UnreachableReason): Promise<FetchResponse> {
  const url = requireSecureUrl(outgoing.url, outgoing.what, http);
  try {
    const response = await http.fetch(url.href, {
      method: outgoing.method,
      headers: outgoing.headers,
      ...(outgoing.body === undefined ? {} : { body: outgoing.body }),
      redirect: 'manual',
      signal: outgoing.signal,
    });
    http.serverClocks?.note(url.href, response.headers, http.now());
    return response;
  } catch (error) {
    throw asUnreachable(error, outgoing, reason);
  }
}

async function boundedText(body: FetchResponse['body']): Promise<string | undefined> {
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    return undefined;
  }
}

/** True for every 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** True for answers that say "not now": 408, 425, 429 and every 5xx. */
export function isTransient(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}

/** A gateway sends these when it got no response from the server. */
const gatewayErrors: readonly number[] = [502, 504];

/**
 * True where an answer is a web page though none was asked for, or sends elsewhere to get one: what a
 * network does that wants the person to sign in first (a captive portal; RFC 6585 §6: 511).
 */
export function isSignInPage({
  status,
  headers,
  text,
}: Omit<HttpReply, 'text'> & Partial<HttpReply>): boolean {
  if (status === 511) return true;
  if (status >= 300 && status < 400) return headers.get('location') !== null;
  const isPage = text === undefined ? /html/i.test(headers.get('content-type') ?? '') : /^\s*</.test(text);
  return status === 200 && isPage;
}

/** What a person can do about a page where an answer should be. */
export const signInPageHint =
  'The sign-in page of a network may be in the way: open any page in a browser, then try again. ' +
  'Nothing that is stored was changed.';

/** The error for an answer that means nothing now; obeys Retry-After (RFC 9110 §10.2.3). */
export function unreachableReply(
  http: Http,
  reply: Omit<HttpReply, 'text'> & Partial<HttpReply>,
  outgoing: { readonly url: string; readonly what: string },
  reason: UnreachableReason,
  problem = `answered with status ${reply.status}`,
): Unreachable {
  const retryAfter = retryAfterSeconds(reply.headers, http.wall());
  // A page in place of the answer, with a status of success, may hide an answer that was given.
  const isLost = gatewayErrors.includes(reply.status) || isSuccess(reply.status);
  return new (isLost ? ResponseLost : Unreachable)(reason, `${name(outgoing)} ${problem}.`, {
    hint: isSignInPage(reply)
      ? signInPageHint
      : 'This may pass by itself: nothing that is stored was changed. Try again later.',
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

function asUnreachable(error: unknown, outgoing: HttpRequest, reason: UnreachableReason): KeyturnError {
  // The connector's own refusals (a forbidden address) reach us inside fetch's error.
  const own = causeChain(error).find((cause) => cause instanceof KeyturnError);
  if (own) return own;
  const problem = networkProblem(error);
  return new (notSent.test(problem) ? Unreachable : ResponseLost)(
    reason,
    `${name(outgoing)} can't be reached: ${problem}.`,
    {
      hint: hintFor(problem),
    },
  );
}

/** What each fault of a certificate means, by the codes of OpenSSL and Node. The first that fits counts. */
const certificateFaults: readonly (readonly [RegExp, string])[] = [
  [
    /ALTNAME|HOSTNAME_MISMATCH/,
    'Its certificate is for another name. Check the address; if it is right, the operator of the server has to correct the certificate.',
  ],
  [
    /^CERT_HAS_EXPIRED$/,
    'Its certificate has expired. Check the clock of this machine; if it is right, the operator of the server has to renew the certificate.',
  ],
  [
    /^CERT_NOT_YET_VALID$/,
    'Its certificate is not valid yet. Check the clock of this machine; if it is right, tell the operator of the server.',
  ],
  [/^CERT_REVOKED$/, 'Its certificate was revoked. Do not go on; tell the operator of the server.'],
  [
    /SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|CERT_UNTRUSTED/,
    'Its certificate comes from an authority that is not trusted here. If the authority is your own: ' +
      'keyturn settings extraAuthorities FILE, then keyturn daemon --restart (for a new home NODE_EXTRA_CA_CERTS=FILE).',
  ],
  [
    /CERT|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH/,
    'Its certificate can not be used. Tell the operator of the server.',
  ],
];

function hintFor(problem: string): string {
  const fault = certificateFaults.find(([code]) => code.test(problem))?.[1];
  return fault === undefined
    ? 'Check the network and the address, then try again. Nothing that is stored was changed.'
    : `${fault} If this network wants you to sign in first, do that in a browser.`;
}

/** Failures before a connection stood: nothing was sent. Of any other the server may know more than we do. */
const notSent =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EHOSTDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)|CERT|SELF_SIGNED|VERIFY|ISSUER|ALTNAME|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH/;

function networkProblem(error: unknown): string {
  const chain = causeChain(error);
  if (chain.some((cause) => cause.name === 'TimeoutError' || cause.name === 'AbortError')) {
    return 'no complete answer in time';
  }
  const codes = chain.map((cause) => ('code' in cause ? cause.code : undefined));
  // Only the code of a network error is repeated: its message may quote the request.
  const code = codes.find((value) => typeof value === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(value));
  return typeof code === 'string' ? code : 'the connection failed';
}

/** 8: deeper chains of causes than fetch → socket → TLS don't occur; a cycle must end. */
const maxChain = 8;

function causeChain(error: unknown): Error[] {
  const chain: Error[] = [];
  let at = error;
  while (at instanceof Error && chain.length < maxChain) {
    chain.push(at);
    at = at.cause;
  }
  return chain;
}

function name(outgoing: { readonly url: string; readonly what: string }): string {
  const origin = URL.parse(outgoing.url)?.origin ?? 'an invalid URL';
  return `${outgoing.what[0]?.toUpperCase()}${outgoing.what.slice(1)} at ${quoted(origin)}`;
}
