/**
 * One connection to the server through one of the transports, from its start to its end.
 *
 * Invariant: each request ends once, with the server's answer or an error; where an answer is lost, the error says
 * whether the request may have run. Nothing is sent twice here.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { wasNeverSent } from '../../base/system/connection-faults.ts';
import { brokenStream, networkCode, NoAnswer, noTransport, unreachable } from '../base/errors.ts';
import { fieldsOf, jsonIn } from '../base/json.ts';
import {
  type Answer,
  isAnswer,
  type JSONRPCNotification,
  type JSONRPCRequest,
  keepText,
  messageOf,
  type OnServerMessage,
  type RequestId,
  withOwnId,
} from '../base/messages.ts';
import type { Carrier, CarrierOptions, MakeCarrier, Sending, Sent } from './carriers.ts';
import { TooLarge } from './event-stream.ts';
import { ServerRefusal, wordsOf } from './refused.ts';
import { OlderStream, StreamLost } from './streamable.ts';

/** The server doesn't know the session any more: it refused the request for that, and did not run it. */
export class SessionLost extends NoAnswer {
  constructor(words: string) {
    super(
      `The server has forgotten the session.${words} The request did not run.`,
      'did not run',
      'Ask again: the next request begins a new session.',
    );
  }
}

/** The server may speak no streamable HTTP at this URL. */
export class WrongTransport extends Error {
  /** What the client gets where the server doesn't speak the older transport either. */
  readonly otherwise: KeyturnError | Answer;

  constructor(otherwise: KeyturnError | Answer) {
    super('not streamable HTTP');
    this.otherwise = otherwise;
  }
}

export interface SessionHooks extends Omit<CarrierOptions, 'hear'> {
  /** The server's own requests and notifications. */
  readonly onMessage: OnServerMessage;
}

interface Pending {
  readonly request: JSONRPCRequest;
  readonly about: RequestId;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  /** What came in its answer and is no message. */
  unread: string;
}

export interface RequestOptions {
  readonly signal: AbortSignal;
  /** The client's id, where this is sent under another. */
  readonly about: RequestId;
  readonly headers?: Readonly<Record<string, string>>;
}

const methodNotFound = -32_601;

/**
 * Milliseconds for an answer on the stream on which the server speaks by itself; and once the server has answered there
 * (an early rmcp does): clients of the SDK wait as long.
 */
const elsewhereTime = 1000;
const knownElsewhereTime = 60_000;

/** What a proxy answers while the server behind it restarts. */
const passingStatuses = new Set([502, 503, 504]);

export class Session {
  readonly #carrier: Carrier;
  readonly #origin: string;
  readonly #onMessage: OnServerMessage;
  readonly #time: CarrierOptions['time'];
  readonly #pending = new Map<RequestId, Pending>();
  #elsewhereTime = elsewhereTime;
  #isStarted = false;
  #isRetired = false;
  /** It answered something besides the handshake. */
  wasUsed = false;
  /** Ends the listening stream, and what `send` is sending. */
  readonly #over = new AbortController();

  constructor(MakeCarrier: MakeCarrier, { onMessage, ...hooks }: SessionHooks) {
    this.#origin = hooks.endpoint.origin;
    this.#onMessage = onMessage;
    this.#time = hooks.time;
    this.#carrier = new MakeCarrier({ ...hooks, hear: (text) => this.#hear(text, undefined) });
  }

  /** Throws a KeyturnError. */
  async start(): Promise<void> {
    try {
      await this.#carrier.start();
    } catch (error) {
      throw this.#failure(error, 'initialize');
    }
    this.#isStarted = true;
  }

  speak(version: string): void {
    this.#carrier.speak(version);
  }

  /** The server's answer. Rejects with a KeyturnError, `WrongTransport` (for `initialize`) or the signal's reason. */
  async request(request: JSONRPCRequest, { signal, about, headers = {} }: RequestOptions): Promise<Answer> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const pending: Pending = { request, about, resolve, reject, unread: '' };
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#pending.set(request.id, pending);
    const isOpen = (): boolean => this.#pending.get(request.id) === pending;
    const hear = (text: string): void => this.#hear(text, pending);
    const sending = { signal, headers, hear, isOpen };
    this.#exchange(pending, sending, promise).catch(
      (error: unknown) => isOpen() && this.#fail(pending, error),
    );
    try {
      const answer = await promise;
      if (request.method !== 'initialize') this.wasUsed = true;
      return answer;
    } finally {
      this.#pending.delete(request.id);
      signal.removeEventListener('abort', abort);
      if (this.#isRetired && this.#pending.size === 0) await this.end();
    }
  }

  /** Most end after their answer: an error for nobody would cost a stack. */
  async #exchange(pending: Pending, sending: Sending, answer: Promise<Answer>): Promise<void> {
    const sent = await this.#carrier.send(pending.request, sending);
    if (sending.isOpen() && sent.elsewhere && pending.unread === '') {
      const over = new AbortController();
      const late = this.#time.sleep(this.#elsewhereTime, over.signal);
      await Promise.race([answer, sent.elsewhere, late]).catch(() => undefined);
      over.abort();
    }
    if (sending.isOpen() && !sent.isLater) this.#fail(pending, withoutAnswer(pending, sent));
  }

  /** A notification, or an answer to the server's own request. */
  async send(message: JSONRPCNotification | Answer): Promise<void> {
    const sent = isAnswer(message) ? (withOwnId(message) as Answer) : message;
    const sending = { signal: this.#over.signal, hear: () => undefined, isOpen: () => false };
    try {
      await this.#carrier.send(sent, sending);
    } catch (error) {
      throw this.#failure(error, 'method' in message ? message.method : 'an answer');
    }
    if (!('method' in message) || message.method !== 'notifications/initialized') return;
    void this.#carrier.listen(this.#over.signal).catch(() => undefined);
  }

  /** Ends the session at the server too, where it has one. */
  async end(): Promise<void> {
    // A server may not let clients end sessions, and may be gone.
    await this.#carrier.terminate().catch(() => undefined);
    this.close();
  }

  /** Ends once the requests under way have ended: one of them may still get its answer. */
  async retire(): Promise<void> {
    // All answers come on one stream: none comes after it broke.
    if (this.#carrier.isOlder) return this.close();
    this.#isRetired = true;
    this.#over.abort();
    if (this.#pending.size === 0) await this.end();
  }

  close(): void {
    this.#over.abort();
    for (const { request, reject } of this.#pending.values()) reject(brokenStream(request.method));
    this.#carrier.close();
  }

  /** `asked`: the request in whose answer the text came. */
  #hear(text: string, asked: Pending | undefined): void {
    const value = jsonIn(text);
    for (const one of Array.isArray(value) ? value : [value]) {
      const message = messageOf(one);
      if (message && isAnswer(message)) {
        if (one === value) keepText(message, value, text);
        this.#settle(message, asked, text);
      } else if (message) this.#onMessage(message, asked?.about);
      else if (asked) this.#unread(asked, one, text);
    }
  }

  #settle(answer: Answer, asked: Pending | undefined, text: string): void {
    const [only, second] = this.#pending.values();
    const pending = answer.id === undefined ? (asked ?? (second ? undefined : only)) : this.#named(answer.id);
    if (pending && !asked) this.#elsewhereTime = knownElsewhereTime;
    if (pending) pending.resolve({ ...answer, id: pending.request.id });
    // It names a request that nobody made. On the stream of this one nothing else will come.
    else if (asked) this.#fail(asked, new NotTheProtocol(asked.request.method, text));
  }

  /** The request of this id: servers answer 1 for "1" and "1" for 1. */
  #named(id: RequestId): Pending | undefined {
    const exact = this.#pending.get(id);
    if (exact) return exact;
    for (const [known, pending] of this.#pending) if (String(known) === String(id)) return pending;
    return undefined;
  }

  /** What is no message may be there to keep the stream open, or be the answer, spoilt: then no other one comes. */
  #unread(asked: Pending, value: unknown, text: string): void {
    asked.unread = text;
    const isSpoilt = value === undefined ? /^\s*\{(?!.*"method")/s.test(text) : 'id' in fieldsOf(value);
    if (isSpoilt) this.#fail(asked, new NotTheProtocol(asked.request.method, text));
  }

  #fail({ request, resolve, reject }: Pending, error: unknown): void {
    const { method, id } = request;
    const failure = this.#failure(error, method);
    const isKept = failure instanceof SessionLost || !(error instanceof ServerRefusal);
    const answer = isKept || error.status === 401 || error.status === 403 ? undefined : error.answer;
    const outcome = answer ? { ...answer, id } : failure;
    if (method === 'initialize' && !this.#carrier.isOlder && mayBeOlder(error))
      return reject(new WrongTransport(outcome));
    if (outcome instanceof KeyturnError) reject(outcome);
    else resolve(outcome);
  }

  #failure(error: unknown, method: string): KeyturnError {
    if (error instanceof KeyturnError) return error;
    if (error instanceof TooLarge)
      return new NoAnswer(
        `The answer to ${quoted(method)} is larger than 64 MiB, which is the most that the bridge passes on. The request may have run.`,
        'may have run',
        'Ask for less at a time.',
      );
    if (error instanceof ServerRefusal) return this.#refusal(error, method);
    if (error instanceof OlderStream) return noTransport('');
    const code = networkCode(error);
    return !(error instanceof StreamLost) && wasNeverSent(code)
      ? unreachable(this.#origin, code)
      : brokenStream(method, code);
  }

  /** A 404 in a session says that the session is gone, unless its error says that the method is. */
  #isLost({ answer, status, isAboutSession }: ServerRefusal): boolean {
    const { sessionId, isOlder } = this.#carrier;
    // One of the older transport is named in the URL for messages.
    const mayBeLost = sessionId !== undefined || (isOlder && this.#isStarted);
    const isMissing = answer && 'error' in answer && answer.error.code === methodNotFound;
    return mayBeLost && !isMissing && (status === 404 || isAboutSession);
  }

  #refusal(refused: ServerRefusal, method: string): KeyturnError {
    const { status, redirectsTo, retryAfter, text } = refused;
    const words = wordsOf(text);
    if (redirectsTo !== undefined) return redirected(redirectsTo, this.#origin, method);
    if (method !== 'initialize' && this.#isLost(refused)) return new SessionLost(words);
    if (status === 401 || status === 403) return refusedFor(status, words);
    if (method === 'initialize' && (status === 404 || status === 405)) return noTransport(words);
    const isFault = status >= 500 && status !== 501;
    return new NoAnswer(
      `The server answers ${status} to ${quoted(method)}.${words} The request ${isFault ? 'may have run' : 'did not run'}.`,
      isFault ? 'may have run' : 'did not run',
      hintFor(status, retryAfter),
      { isPassing: passingStatuses.has(status), ...(retryAfter !== undefined && { retryAfter }) },
    );
  }
}

/** The specification has a client try the older transport after a refusal; servers of that refuse in many ways. */
function mayBeOlder(error: unknown): boolean {
  if (!(error instanceof ServerRefusal))
    return error instanceof OlderStream || error instanceof NotTheProtocol;
  const { status, redirectsTo } = error;
  return redirectsTo === undefined && status !== 401 && status !== 429 && !passingStatuses.has(status);
}

function hintFor(status: number, retryAfter: number | undefined): string {
  if (retryAfter !== undefined) return `Try again in ${retryAfter} s.`;
  if (status === 429) return 'Try again later.';
  return status >= 500
    ? 'Ask its operator, or try again later.'
    : 'Check the URL, and ask the server’s operator.';
}

function redirected(to: string, from: string, method: string): NoAnswer {
  return new NoAnswer(
    to !== from
      ? `The server redirects ${quoted(method)} to ${quoted(to)}, and the bridge follows no redirect to another server. The request did not run.`
      : `The server redirects ${quoted(method)} to another path of ${quoted(to)}, outside the URL that you allowed. The request did not run.`,
    'did not run',
    'If its operator says that it has moved, write its new URL into this entry.',
  );
}

function refusedFor(status: 401 | 403, words: string): KeyturnError {
  return status === 401
    ? new KeyturnError(
        'token_rejected',
        `The server rejects every token that Keyturn has for it (401).${words}`,
        { hint: 'keyturn sign-in show says why; keyturn login signs in again.' },
      )
    : new KeyturnError(
        'scope_insufficient',
        `The server refuses this request to this account (403).${words}`,
        { hint: 'Ask the server’s operator what the account may do, or sign in as another one.' },
      );
}

function withoutAnswer({ request: { method }, unread }: Pending, { status, isStream }: Sent): KeyturnError {
  if (status === 202) {
    return new NoAnswer(
      `The server took ${quoted(method)} and gave no answer. The request may have run.`,
      'may have run',
      'Tell its operator: a request wants an answer.',
    );
  }
  return isStream && unread === '' ? brokenStream(method) : new NotTheProtocol(method, unread);
}

/** What the server sends is no answer. */
class NotTheProtocol extends NoAnswer {
  constructor(method: string, text: string) {
    super(
      `The server answers ${quoted(method)} with something that is no message of the protocol.${wordsOf(text)} The request may have run.`,
      'may have run',
      'Check the URL: it is that of the protocol’s endpoint, often with /mcp at its end.',
    );
  }
}
