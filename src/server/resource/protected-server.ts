/**
 * A protected server: the checks of one request, in order.
 *
 * Invariant: nothing of a request is processed before its token passed (MCP, Token Handling), and a check that can't be
 * made is never a pass. The check of a request ends in one event, `granted` or `refused`, unless it is for metadata or
 * a preflight request.
 */
import { quoted } from '../../base/errors.ts';
import { resourceCovers } from '../../oauth/base/resource.ts';
import { makeAccess, type Access } from './access.ts';
import { limitKey } from './base/address.ts';
import { sha256 } from './base/digest.ts';
import { shownFault } from './base/fault.ts';
import { hasBody, type Answer, type IncomingRequest } from './base/incoming.ts';
import { Refusal } from './base/refusal.ts';
import { makeChecks, type Checks } from './checks.ts';
import { failureEvent, requestEvent, type Course } from './events.ts';
import type { ProtectedServerOptions } from './options.ts';
import { refusalAnswer } from './requests/challenge.ts';
import { isForm, maxFormBytes, readCredentials, readForm, type Credentials } from './requests/credentials.ts';
import { corsHeaders, preflight } from './requests/cors.ts';
import { checkOperationHeaders, operationsIn, parseBody } from './requests/message.ts';
import { checkPath } from './requests/path.ts';
import { callerOf, checkTransport } from './requests/transport.ts';
import type { VerifiedToken } from './tokens/token.ts';

/** What became of a request. */
export type Verdict =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | {
      readonly kind: 'passed';
      readonly access: Access;
      /** The body, where it was read here. */
      readonly bytes?: Uint8Array;
      /** Headers that the answer must carry. */
      readonly headers: Readonly<Record<string, string>>;
    };

/** Characters. A token with 200 groups has 11,000, and Node takes 16,384 bytes of headers in all. */
const maxTokenLength = 16_384;

/** Makes the checks of one resource. Throws invalid_request for an option that can't be used. */
export class ProtectedServer {
  readonly resource: string;
  /** Of the resource: what an adapter puts before a path, since anybody can write a Host header. */
  readonly origin: string;
  /** The path-specific place of the metadata. */
  readonly metadataUrl: string;
  readonly #checks: Checks;

  constructor(options: ProtectedServerOptions) {
    this.#checks = makeChecks(options);
    this.resource = this.#checks.settings.resource;
    this.origin = new URL(this.resource).origin;
    this.metadataUrl = this.#checks.metadata.url;
  }

  /** The answer to a request for the metadata; undefined for any other request. */
  metadata(request: IncomingRequest): Answer | undefined {
    return this.#answered(request, this.#checks.metadata.answer(request.method, request.url.pathname));
  }

  /** An answer for which no token is needed, if the request came over https. */
  #answered(request: IncomingRequest, answer: Answer | undefined): Answer | undefined {
    if (answer === undefined) return undefined;
    try {
      checkTransport(request, this.#checks.settings);
      return answer;
    } catch (error) {
      return this.#refused(request, asRefusal(error));
    }
  }

  /** All checks of one request; for an adapter to a server of another kind. Never rejects for what a request holds. */
  async check(request: IncomingRequest): Promise<Verdict> {
    const { settings } = this.#checks;
    const open = this.metadata(request) ?? this.#answered(request, preflight(request, settings.origins));
    if (open !== undefined) return { kind: 'answered', answer: open };
    const course: Course = { method: request.method, path: request.url.pathname };
    try {
      const passed = await this.#run(request, course);
      settings.onEvent(requestEvent(course, settings.now()));
      return passed;
    } catch (error) {
      const refusal = asRefusal(error);
      settings.onEvent(requestEvent(course, settings.now(), refusal));
      const nonce = refusal.row.status === 401 ? await this.#checks.dpop.nonceHeader() : {};
      return { kind: 'answered', answer: this.#refused(request, refusal, nonce) };
    }
  }

  /** Tells the operator what a handler threw; for an adapter that answers in its place. */
  failed(method: string, path: string, error: unknown): void {
    const { onEvent, now } = this.#checks.settings;
    onEvent(failureEvent(method, path, now(), error));
  }

  async #run(request: IncomingRequest, course: Course): Promise<Verdict> {
    const { settings, scopes, dpop, perAddress, perClient } = this.#checks;
    course.address = checkTransport(request, settings);
    checkPath(request);
    // A token for one path opens no other.
    if (!resourceCovers(settings.resource, this.#ownUrl(request)))
      throw this.#unknownPath(request.url.pathname);
    const address = course.address === undefined ? undefined : limitKey(course.address);
    if (course.address !== undefined && perAddress) {
      const caller = callerOf(course.address, (name) => request.headers.get(name));
      limit('rate_limited', perAddress.take(caller));
    }

    const credentials = readCredentials(request);
    // No byte of a body is read for a stranger. A token in a form is none (RFC 6750 §2.2).
    if (credentials === undefined) throw new Refusal('token_missing');
    const tokenDigest = sha256(credentials.token);
    const token = await this.#verify(request, credentials, tokenDigest, address);
    course.token = token;
    // Every installation of an app may be one client: nobody uses up what others have by the same one.
    if (perClient)
      limit('rate_limited', perClient.take(JSON.stringify([token.issuer, token.clientId, token.subject])));
    await this.#checkSession(token);

    const needed = scopes.neededFor(request.method, this.#path(request));
    course.needed = needed;
    this.#requireScopes(token, needed);
    const isFormBody = isForm(request.headers);
    const bytes = isFormBody || this.#readsBody(request) ? await this.#bytes(request, isFormBody) : undefined;
    const form = bytes && isFormBody ? readForm(bytes) : undefined;
    const body = bytes && settings.operations ? this.#checkOperations(request, course, token, bytes) : form;
    const { resource } = settings;
    return {
      kind: 'passed',
      access: makeAccess({ token, tokenDigest, body, resource, metadataUrl: this.metadataUrl }),
      ...(bytes ? { bytes } : {}),
      headers: { ...corsHeaders(request.headers, settings.origins), ...(await dpop.nonceHeader()) },
    };
  }

  /** The token by itself, then in its binding. Unless it passed before, a refused one counts against its address. */
  async #verify(
    request: IncomingRequest,
    credentials: Credentials,
    tokenDigest: string,
    address: string | undefined,
  ): Promise<VerifiedToken> {
    const { tokens, dpop, failedTokens } = this.#checks;
    if (address !== undefined) limit('too_many_failures', failedTokens.wait(address, tokenDigest));
    try {
      if (credentials.token.length > maxTokenLength) throw new Refusal('token_unreadable');
      const token = await tokens.check(credentials.token, tokenDigest);
      await dpop.check({ request, credentials, token, tokenDigest, url: this.#ownUrl(request) });
      failedTokens.passed(tokenDigest);
      return token;
    } catch (error) {
      const isFailure =
        error instanceof Refusal && error.row.status === 401 && error.reason !== 'proof_needs_nonce';
      if (isFailure && address !== undefined) {
        failedTokens.refused(address, tokenDigest, error.row.error === 'invalid_token');
      }
      throw error;
    }
  }

  async #checkSession(token: VerifiedToken): Promise<void> {
    const { checkSession } = this.#checks.settings;
    if (!checkSession) return;
    let state: unknown;
    let problem = 'checkSession answered neither valid, ended nor unavailable';
    try {
      state = await checkSession(token);
    } catch (error) {
      problem = `checkSession threw ${shownFault(error)}`;
    }
    if (state === 'ended') throw new Refusal('session_ended');
    if (state === 'unavailable') throw new Refusal('session_unavailable', { retryAfterSeconds: 5 });
    if (state !== 'valid') throw new Refusal('session_unavailable', { retryAfterSeconds: 5, problem });
  }

  /** MCP, Error Handling. */
  #requireScopes(token: VerifiedToken, needed: readonly string[]): void {
    const { scopes } = this.#checks;
    if (scopes.isEnough(token.scopes, needed)) return;
    throw new Refusal('scope_insufficient', { scope: scopes.challenge(token.scopes, needed) });
  }

  #readsBody({ method, headers }: IncomingRequest): boolean {
    if (this.#checks.settings.operations === undefined) return false;
    // RFC 9110 §9.3.1: a body of GET means nothing, but some parsers of bodies would hand it to the handler.
    return (method !== 'GET' && method !== 'HEAD') || hasBody(headers);
  }

  #checkOperations(
    request: IncomingRequest,
    course: Course,
    token: VerifiedToken,
    bytes: Uint8Array,
  ): unknown {
    // A stream and the end of a session have no body, and ask for no operation.
    if (bytes.byteLength === 0 && request.method !== 'POST') return undefined;
    const body = parseBody(bytes);
    checkOperationHeaders(request.headers, body);
    const operations = operationsIn(body);
    course.operations = operations;
    const { scopes } = this.#checks;
    const needed = new Set([...(course.needed ?? []), ...operations.flatMap((one) => scopes.neededBy(one))]);
    course.needed = [...needed];
    this.#requireScopes(token, course.needed);
    return body;
  }

  async #bytes(request: IncomingRequest, isFormBody: boolean): Promise<Uint8Array> {
    const { maxBodyBytes } = this.#checks.settings;
    const bytes = await request.readBody(isFormBody ? Math.min(maxBodyBytes, maxFormBytes) : maxBodyBytes);
    if (bytes === undefined) throw new Refusal('body_too_long');
    return bytes;
  }

  /** The path as clients know it, at the configured origin, since anybody can write a Host header. */
  #ownUrl(request: IncomingRequest): string {
    return this.origin + this.#path(request);
  }

  #unknownPath(pathname: string): Refusal {
    const { settings } = this.#checks;
    const expected = settings.mountPath ?? new URL(settings.resource).pathname;
    return new Refusal('unknown_path', {
      problem: `${quoted(pathname)} is not at or below ${quoted(expected)} (mountPath)`,
    });
  }

  /** The path as clients know it. A prefix that a proxy stripped is put back. */
  #path({ url: { pathname } }: IncomingRequest): string {
    const mount = this.#checks.settings.mountPath?.replace(/\/+$/, '');
    if (mount === undefined) return pathname;
    // Of a path outside the mount nothing is the resource's.
    if (pathname !== mount && !pathname.startsWith(`${mount}/`)) throw this.#unknownPath(pathname);
    return new URL(this.resource).pathname.replace(/\/+$/, '') + pathname.slice(mount.length);
  }

  #refused(request: IncomingRequest, refusal: Refusal, more: Record<string, string> = {}): Answer {
    const { row, details } = refusal;
    const { scopes } = this.#checks;
    const scope = row.status === 401 ? scopes.neededFor(request.method, this.#path(request)) : details.scope;
    return refusalAnswer(this.#checks, request, refusal, scope, more);
  }
}

function limit(reason: 'rate_limited' | 'too_many_failures', wait: number | undefined): void {
  if (wait !== undefined) throw new Refusal(reason, { retryAfterSeconds: wait });
}

/** A fault of ours ends the request: it is no pass. It goes to the server's own handling of errors. */
function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  throw error;
}
