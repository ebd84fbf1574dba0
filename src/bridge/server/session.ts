/**
 * One connection to the server through one of the SDK's transports, from `initialize` to its end.
 *
 * Invariant: each request ends once, with the server's answer or a KeyturnError that says whether it may have run.
 * Nothing is sent twice here.
 */
import { InsufficientScopeError, SdkError, SdkHttpError, SseError } from '@modelcontextprotocol/client';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { wasNeverSent } from '../../base/system/connection-faults.ts';
import { brokenStream, networkCode, NoAnswer, noTransport, unreachable } from '../base/errors.ts';
import type { Carrier, CarrierHooks, MakeCarrier } from './carriers.ts';
import { type Exchange, exchanges, type Fetch } from './exchange.ts';
import {
  type Answer,
  isAnswer,
  type JSONRPCNotification,
  type JSONRPCRequest,
  listen,
  type RequestId,
} from '../base/messages.ts';
import type { Heard } from '../base/way.ts';

/** The server doesn't know the session any more (404): it refused the request for that, and did not run it. */
export class SessionLost extends NoAnswer {
  constructor() {
    super(
      'The server has forgotten the session. The request did not run.',
      'did not run',
      'Ask again: the next request begins a new session.',
    );
  }
}

/** The server speaks no streamable HTTP at this URL. */
export class WrongTransport extends KeyturnError {}

export interface SessionHooks extends CarrierHooks {
  /** The server's own requests and notifications. */
  readonly onMessage: Heard;
}

interface Pending {
  readonly method: string;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export interface RequestOptions {
  readonly signal: AbortSignal;
  /** The client's id, where this is sent under another. */
  readonly about: RequestId;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Statuses by which a server of the older transport answers a POST to its stream's URL. */
const otherTransport = new Set([400, 404, 405, 406, 415]);

const methodNotFound = -32_601;

/** What a proxy answers while the server behind it restarts. */
const passingStatuses = new Set([502, 503, 504]);

export class Session {
  readonly #carrier: Carrier;
  readonly #origin: string;
  readonly #pending = new Map<RequestId, Pending>();
  #isStarted = false;
  #isRetired = false;
  /** Ends the listening stream. */
  readonly #over = new AbortController();

  constructor(make: MakeCarrier, endpoint: URL, fetch: Fetch, { onMessage, ...hooks }: SessionHooks) {
    this.#origin = endpoint.origin;
    this.#carrier = make(endpoint, fetch, hooks);
    listen(this.#carrier.transport, {
      onmessage: (message) => {
        if (isAnswer(message)) this.#settle(message);
        else onMessage(message, exchanges.getStore()?.about);
      },
      onerror: (error) => {
        // Else each failure reaches the request that it belongs to.
        if (error instanceof SseError && this.#isStarted) hooks.onLost();
      },
    });
  }

  get hasId(): boolean {
    return this.#carrier.sessionId() !== undefined;
  }

  /** All answers come on one stream: none comes after it broke. */
  get hasOneStream(): boolean {
    return this.#carrier.isOlder;
  }

  async start(): Promise<void> {
    await this.#carrier.start();
    this.#isStarted = true;
  }

  /** What the failure of `start` says. */
  startFailure(error: unknown): KeyturnError {
    if (error instanceof SseError) return noTransport();
    return this.#failure(error, 'initialize', {});
  }

  /** The revision that the server chose: every later request names it. */
  speak(version: string): void {
    this.#carrier.transport.setProtocolVersion?.(version);
  }

  /** The server's answer. Rejects with a KeyturnError, or with the signal's reason once the client has cancelled. */
  async request(request: JSONRPCRequest, { signal, about, headers = {} }: RequestOptions): Promise<Answer> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const exchange: Exchange = { about };
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#pending.set(request.id, { method: request.method, resolve, reject });
    const broken = (): void => {
      // Most streams end after their answer: an error for nobody would cost a stack.
      if (this.#pending.has(request.id)) reject(this.#withoutAnswer(request.method, exchange));
    };
    exchanges
      .run(exchange, async () =>
        this.#carrier.transport.send(request, { requestSignal: signal, onRequestStreamEnd: broken, headers }),
      )
      // Without a stream nothing comes later; the answer, if there was one, came before.
      .then(() => exchange.isStream || this.#carrier.isOlder || broken())
      .catch((error: unknown) => {
        const answer = answerIn(error, request.id);
        if (answer && !this.#isLost(error, answer)) resolve(answer);
        else reject(this.#failure(error, request.method, exchange));
      });
    try {
      return await promise;
    } finally {
      this.#pending.delete(request.id);
      signal.removeEventListener('abort', abort);
      if (this.#isRetired && this.#pending.size === 0) await this.close();
    }
  }

  /** A notification, or an answer to the server's own request. */
  async send(message: JSONRPCNotification | Answer): Promise<void> {
    const exchange: Exchange = {};
    try {
      await exchanges.run(exchange, async () => this.#carrier.transport.send(message));
    } catch (error) {
      throw this.#failure(error, 'method' in message ? message.method : 'an answer', exchange);
    }
    if (!('method' in message) || message.method !== 'notifications/initialized') return;
    void this.#carrier.listen(this.#over.signal).catch(() => undefined);
  }

  /** Ends the session at the server too, where it has one. */
  async end(): Promise<void> {
    // A server may not let clients end sessions, and may be gone.
    if (this.hasId) await this.#carrier.terminate().catch(() => undefined);
    await this.close();
  }

  /** Closes once the requests under way have ended: one of them may still get its answer. */
  async retire(): Promise<void> {
    this.#isRetired = true;
    this.#over.abort();
    if (this.#pending.size === 0) await this.close();
  }

  async close(): Promise<void> {
    this.#over.abort();
    // The transport says nothing of streams that it ends itself.
    for (const { method, reject } of this.#pending.values()) reject(brokenStream(method));
    await this.#carrier.transport.close();
  }

  #settle(answer: Answer): void {
    if (answer.id !== undefined) this.#pending.get(answer.id)?.resolve(answer);
  }

  #withoutAnswer(method: string, { status, isTooLarge }: Exchange): KeyturnError {
    if (isTooLarge) return tooLarge(method);
    if (status === 202) {
      return new NoAnswer(
        `The server took ${quoted(method)} and gave no answer. The request may have run.`,
        'may have run',
        'Tell its operator: a request wants an answer.',
      );
    }
    return brokenStream(method);
  }

  #failure(error: unknown, method: string, exchange: Exchange): KeyturnError {
    if (error instanceof KeyturnError) return error;
    if (exchange.isTooLarge) return tooLarge(method);
    if (error instanceof InsufficientScopeError) return refusedFor(403);
    if (error instanceof SdkHttpError) return this.#refusal(error.data.status, method, exchange);
    if (error instanceof SdkError) return notTheProtocol(method);
    // The SDK's older transport has only a sentence for it, and no code.
    if (exchange.status !== undefined && exchange.status >= 300)
      return this.#refusal(exchange.status, method, exchange);
    const code = networkCode(error);
    if (exchange.status === undefined && wasNeverSent(code)) return unreachable(this.#origin, code);
    if (exchange.status !== undefined && !exchange.isStream && isParseFailure(error))
      return notTheProtocol(method);
    return brokenStream(method);
  }

  /** There is a session that the server could forget: one of the older transport is named in the URL for messages. */
  get #mayBeLost(): boolean {
    return this.hasId || (this.#carrier.isOlder && this.#isStarted);
  }

  /** A 404 in a session says that the session is gone, unless its error says that the method is. */
  #isLost(error: unknown, answer: Answer): boolean {
    const isMissing = 'error' in answer && answer.error.code === methodNotFound;
    return this.#mayBeLost && error instanceof SdkHttpError && error.data.status === 404 && !isMissing;
  }

  #refusal(status: number, method: string, { redirectsTo }: Exchange): KeyturnError {
    if (redirectsTo !== undefined) return redirected(redirectsTo, this.#origin, method);
    if (status === 404 && this.#mayBeLost && method !== 'initialize') return new SessionLost();
    if (status === 401 || status === 403) return refusedFor(status);
    if (method === 'initialize' && otherTransport.has(status)) {
      return new WrongTransport(
        'protected_server_unreachable',
        `The server at this URL answers ${status} to a message of the protocol.`,
        { hint: 'Check the URL: it is that of the protocol’s endpoint, often with /mcp at its end.' },
      );
    }
    return new NoAnswer(
      `The server answers ${status} to ${quoted(method)}${status >= 500 ? '. The request may have run.' : '. The request did not run.'}`,
      status >= 500 ? 'may have run' : 'did not run',
      status >= 500
        ? 'Ask its operator, or try again later.'
        : 'Check the URL, and ask the server’s operator.',
      { isPassing: passingStatuses.has(status) },
    );
  }
}

function redirected(to: string, from: string, method: string): NoAnswer {
  const isElsewhere = to !== from;
  return new NoAnswer(
    isElsewhere
      ? `The server redirects ${quoted(method)} to ${quoted(to)}, and the bridge follows no redirect to another server. The request did not run.`
      : `The server redirects ${quoted(method)} to another path of ${quoted(to)}, outside the URL that you allowed. The request did not run.`,
    'did not run',
    'If its operator says that it has moved, write its new URL into this entry.',
  );
}

function isParseFailure(error: unknown): boolean {
  return error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError');
}

function refusedFor(status: 401 | 403): KeyturnError {
  return status === 401
    ? new KeyturnError('token_refused', 'The server refuses every token that Keyturn has for it (401).', {
        hint: 'keyturn explain says why; keyturn login signs in again.',
      })
    : new KeyturnError('scope_insufficient', 'The server refuses this request to this account (403).', {
        hint: 'Ask the server’s operator what the account may do, or sign in as another one.',
      });
}

function tooLarge(method: string): NoAnswer {
  return new NoAnswer(
    `The answer to ${quoted(method)} is larger than 64 MiB, which is the most that the bridge passes on. The request may have run.`,
    'may have run',
    'Ask for less at a time.',
  );
}

function notTheProtocol(method: string): NoAnswer {
  return new NoAnswer(
    `The server answers ${quoted(method)} with something that is no message of the protocol. The request may have run.`,
    'may have run',
    'Check the URL: it is that of the protocol’s endpoint, often with /mcp at its end.',
  );
}

/** Servers send a JSON-RPC error with an HTTP status that says the same: the client gets the error itself. */
function answerIn(error: unknown, id: RequestId): Answer | undefined {
  if (!(error instanceof SdkHttpError)) return undefined;
  const { status, text } = error.data;
  if (status === 401 || status === 403 || typeof text !== 'string') return undefined;
  const body = jsonOf(text);
  if (typeof body !== 'object' || body === null || !('error' in body) || !('id' in body) || body.id !== id)
    return undefined;
  const { error: found } = body;
  if (typeof found !== 'object' || found === null || !('code' in found) || !('message' in found))
    return undefined;
  const { code, message } = found;
  if (typeof code !== 'number' || typeof message !== 'string') return undefined;
  return { jsonrpc: '2.0', id, error: { code, message, ...('data' in found ? { data: found.data } : {}) } };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
