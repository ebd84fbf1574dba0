/**
 * All requests of the OAuth client go through this file. Size and time are limited; fetch follows no redirect.
 *
 * Invariants: every request goes to a URL that `requireSecureUrl` accepts. At most `maxBytes` of a response are kept. A
 * failed connection becomes `Unreachable`, without the library's error, which could contain secrets of the request. If
 * the server may have served the request anyway, the error is a `ResponseLost`: a refresh token may then be used up.
 */
import { KeyturnError, quoted, Unreachable } from '../../base/errors.ts';
import { certificateFault, wasNeverSent } from '../../base/system/connection-faults.ts';
import { boundedBytes } from './bounded-bytes.ts';
import { retryAfterSeconds } from './http-time.ts';
import { requireSecureUrl } from './secure-url.ts';
import type { ServerClocks } from './server-clock.ts';

export interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  /** The caller gets a 3xx response and decides about the redirect. */
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

/** Everything that src/oauth needs from outside. */
export interface Http {
  readonly fetch: Fetch;
  /** Milliseconds, steady: for lifetimes and waits. */
  now(): number;
  /** Milliseconds since 1970, by the wall clock: for times in records, and for dates that servers write. */
  wall(): number;
  /** Remembers each server's clock. If it is absent, every clock counts as right. */
  readonly serverClocks?: ServerClocks;
  /** By issuer and client id: the form of the client secret that the server accepted (secret-form.ts). */
  readonly secretForms?: Map<string, string>;
  /** True if http is accepted for loopback hosts. */
  readonly allowInsecureLoopback: boolean;
  /** The header with the protocol's version, e.g. `2025-03-26`, for servers of the earlier revision; absent: none. */
  readonly protocolVersion?: { readonly header: string; readonly value: string };
  /** A signal that aborts after this many milliseconds; by default `AbortSignal.timeout`. */
  deadline?(milliseconds: number): AbortSignal;
}

/** There was no response of the server, but it may have received the request and served it. */
export class ResponseLost extends Unreachable {}

export type UnreachableReason = 'mcp_server_unreachable' | 'authorization_server_unreachable';

export interface HttpRequest {
  readonly url: string;
  /** Names the target in messages: "the token endpoint". */
  readonly what: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: FetchResponse['headers'];
  /** The text of the body; absent if it was not read, or is longer than `maxBytes` or not UTF-8. */
  readonly text?: string | undefined;
  /** The secrets in the request, in each form in which the server saw them. No message may repeat them. */
  readonly secretsSent?: readonly string[];
}

/** 256 KiB: more than any metadata document needs. Token responses are far smaller. */
const maxBytes = 256 * 1024;

export function deadline(http: Http, milliseconds: number): AbortSignal {
  return http.deadline?.(milliseconds) ?? AbortSignal.timeout(milliseconds);
}

/** Sends a request and reads the response, of any status. Throws insecure_url, or Unreachable with `reason`. */
export async function send(http: Http, outgoing: HttpRequest, reason: UnreachableReason): Promise<HttpReply> {
  const response = await open(http, outgoing, reason);
  try {
    return { status: response.status, headers: response.headers, text: await boundedText(response.body) };
  } catch (error) {
    throw asUnreachable(error, outgoing, reason);
  }
}

/** As `send`, but reads no body: for an endpoint that may stream without end. */
export async function sendForHead(
  http: Http,
  outgoing: HttpRequest,
  reason: UnreachableReason,
): Promise<HttpReply> {
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
      body: outgoing.body,
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
  const bytes = await boundedBytes(body, maxBytes);
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

export function isTransient(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}

/** A gateway sends these when it got no response from the server, or an invalid one. */
const gatewayErrors: readonly number[] = [502, 504];

/** A web page or a redirect instead of the answer, as where a network wants a sign-in first (RFC 6585 §6: 511). */
export function isSignInPage({ status, headers, text }: HttpReply): boolean {
  if (status === 511) return true;
  if (status >= 300 && status < 400) return headers.get('location') !== null;
  const isPage = text === undefined ? /html/i.test(headers.get('content-type') ?? '') : /^\s*</.test(text);
  return status === 200 && isPage;
}

export const signInPageHint =
  'The sign-in page of a network may be in the way: open any page in a browser, then try again. ' +
  'Nothing that is stored was changed.';

/** The error for a response that may be temporary, with the time of Retry-After (RFC 9110 §10.2.3). */
export function unreachableReply(
  http: Http,
  reply: HttpReply,
  outgoing: { readonly url: string; readonly what: string },
  reason: UnreachableReason,
  problem = `answered with status ${reply.status}`,
): Unreachable {
  const retryAfter = retryAfterSeconds(reply.headers, http.wall());
  // With a status of success, the server may have served the request, and a network replaced its response.
  const isLost = gatewayErrors.includes(reply.status) || isSuccess(reply.status);
  return new (isLost ? ResponseLost : Unreachable)(reason, `${name(outgoing)} ${problem}.`, {
    hint: isSignInPage(reply)
      ? signInPageHint
      : 'This may be temporary: nothing that is stored was changed. Try again later.',
    retryAfter,
  });
}

function asUnreachable(error: unknown, outgoing: HttpRequest, reason: UnreachableReason): KeyturnError {
  // Our connector refuses forbidden addresses. Its error is inside fetch's error.
  const own = causeChain(error).find((cause) => cause instanceof KeyturnError);
  if (own) return own;
  const problem = networkProblem(error);
  return new (wasNeverSent(problem) ? Unreachable : ResponseLost)(
    reason,
    `${name(outgoing)} can't be reached: ${problem}.`,
    { hint: hintFor(problem, outgoing.url) },
  );
}

/** What fetch says of a server that closes the connection, as one does that wants TLS. */
const closedEarly: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET']);

function hintFor(problem: string, url: string): string {
  const fault = certificateFault(problem);
  if (url.startsWith('http:') && closedEarly.has(problem))
    return 'The server may want https: write https:// instead of http://, and try again.';
  if (problem === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'The server does not speak TLS there. Check the port, or whether its address begins with http://.';
  // The broker loads its HTTP client with the first request.
  if (problem === 'ERR_MODULE_NOT_FOUND')
    return 'The files of the running broker are gone: Keyturn was updated or moved. Run: keyturn broker restart';
  return fault === undefined
    ? 'Check the network and the address, then try again. Nothing that is stored was changed.'
    : `${fault.advice} If this network wants you to sign in first, do that in a browser.`;
}

/** What is wrong with the connection, in words or as a code such as `ECONNREFUSED`. */
export function networkProblem(error: unknown): string {
  const chain = causeChain(error);
  if (chain.some((cause) => cause.name === 'TimeoutError' || cause.name === 'AbortError')) {
    return 'no complete answer in time';
  }
  const codes = chain.map((cause) => ('code' in cause ? cause.code : undefined));
  // The message of a network error may quote the request, so only its code is used.
  const code = codes.find((value) => typeof value === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(value));
  return typeof code === 'string' ? code : 'the connection failed';
}

/** The longest known chain of causes is fetch → socket → TLS. The limit ends a cycle. */
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
