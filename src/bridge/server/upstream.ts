/**
 * The way to the server across its restarts: one session at a time, and a new one where the server lost the old.
 *
 * Invariant: a request is sent again only where the server refused it for its session or its headers, where it broke
 * and changes nothing (`reissue.ts`), or where it got no token; then under a new id, a bounded number of times. A new
 * session hears what the client told the one before.
 */
import { untilAborted } from '../../base/abort.ts';
import { KeyturnError } from '../../base/errors.ts';
import { isStateless } from '../base/envelope.ts';
import type { Fields } from '../base/json.ts';
import { NoAnswer } from '../base/errors.ts';
import type {
  Answer,
  JSONRPCNotification,
  JSONRPCRequest,
  OnServerMessage,
  RequestId,
  ServerPeer,
} from '../base/messages.ts';
import { mayReissue } from '../base/reissue.ts';
import type { CarrierOptions, MakeCarrier } from './carriers.ts';
import { ClientState, type Repeat } from './client-state.ts';
import { renewal } from '../base/limits.ts';
import { grown } from './listening.ts';
import { Older } from './older.ts';
import { ParamHeaders } from './param-headers.ts';
import { Questions } from './questions.ts';
import { type RequestOptions, Session, SessionLost } from './session.ts';
import { Streamable } from './streamable.ts';

export interface UpstreamOptions extends Omit<CarrierOptions, 'hear' | 'onLost'> {
  /** The server's own requests and notifications. */
  readonly onMessage: OnServerMessage;
  /** What the user is to know, and no request waits for. */
  readonly tell: (problem: KeyturnError) => void;
}

/** Why a request's signal aborts: its client has cancelled it. */
export class Cancelled extends Error {}

/** Milliseconds between the beginnings of two sessions, while each is lost before it was of use. */
const firstInterval = 1000;
const lastInterval = 60_000;

/** Milliseconds before each further try of a request that broke and changes nothing, or that got no token: a restart. */
const pauses = [250, 1000, 3000];

/** Seconds that an authorization server may rest for a request to wait for it. */
const longestRest = 3;

export class Upstream implements ServerPeer {
  readonly #options: UpstreamOptions;
  readonly #questions: Questions;
  readonly #state = new ClientState();
  readonly #paramHeaders: ParamHeaders;
  #session: Promise<Session> | undefined;
  #carrier: MakeCarrier = Streamable;
  /** The client's own handshake, for the session after this one. */
  #firstHandshake: JSONRPCRequest | undefined;
  #isInitialized = false;
  #ids = 0;
  #begun = -Infinity;
  #interval = firstInterval;
  readonly #end = new AbortController();

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#paramHeaders = new ParamHeaders((problem) => this.#tell(problem));
    this.#questions = new Questions(options.onMessage, () => this.#newId());
  }

  /** The server's answer under the id of `request`. Rejects with a KeyturnError, or with the signal's reason. */
  async request(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer> {
    let sent = request;
    let tries = 0;
    let isInNewSession = false;
    for (;;) {
      try {
        const options = { signal, about: request.id };
        const answer = await (request.method === 'initialize'
          ? this.#handshake(sent, options)
          : this.#ask(sent, options));
        return { ...answer, id: request.id };
      } catch (error) {
        const isLost = error instanceof SessionLost;
        const pause = isLost && isInNewSession ? undefined : this.#pauseAfter(error, request.method, tries);
        if (pause === undefined) throw error;
        if (isLost) isInNewSession = true;
        else tries += 1;
        await this.#options.time.sleep(pause, signal);
        sent = { ...request, id: this.#newId() };
      }
    }
  }

  /** A handshake by the older transport. If it succeeds, later sessions use that transport too. */
  async older(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer> {
    this.#carrier = Older;
    try {
      return await this.request(request, signal);
    } catch (error) {
      this.#carrier = Streamable;
      throw error;
    }
  }

  /** A notification, or an answer to what the server asked. */
  async send(message: JSONRPCNotification | Answer): Promise<void> {
    if (!('method' in message)) return this.#questions.answer(message);
    if (message.method === 'notifications/initialized') this.#isInitialized = true;
    await (await this.#session)?.send(message);
  }

  /** Ends the session, at the server too if `tellsServer`. */
  async end(tellsServer: boolean): Promise<void> {
    this.#end.abort();
    const session = await this.#session?.catch(() => undefined);
    await (tellsServer ? session?.end() : session?.close());
  }

  async #ask(request: JSONRPCRequest, options: RequestOptions): Promise<Answer> {
    const { signal } = options;
    const session = await untilAborted(this.#current(), signal);
    const wantsHeaders = isStateless(request);
    this.#state.sent(request);
    try {
      if (wantsHeaders) return await this.#askWithHeaders(session, request, options);
      const answer = await session.request(request, options);
      this.#tell(this.#state.learn(request, answer));
      return answer;
    } catch (error) {
      if (error instanceof SessionLost) await this.#drop(session);
      // A stateless server learns it from the end of the stream.
      if (signal.reason instanceof Cancelled && !wantsHeaders) {
        const { message: reason } = signal.reason;
        const params = { requestId: request.id, ...(reason !== '' && { reason }) };
        const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params } as const;
        // The client waits for nothing any more.
        await session.send(cancelled).catch(() => undefined);
      }
      throw error;
    }
  }

  /**
   * Sends the headers that the stateless revision wants of a tool's arguments. If the server finds one wrong, the revision
   * says to list the tools again and to send the request once more.
   */
  async #askWithHeaders(session: Session, request: JSONRPCRequest, options: RequestOptions): Promise<Answer> {
    const send = async (sent: JSONRPCRequest): Promise<Answer> =>
      session.request(sent, { ...options, headers: this.#paramHeaders.for(sent) });
    const list = async (params: Fields): Promise<Answer> => {
      const asking = { jsonrpc: '2.0', id: this.#newId(), method: 'tools/list', params } as const;
      return this.#paramHeaders.learn(asking, await session.request(asking, options));
    };
    await this.#paramHeaders.list(request, list);
    const answer = await send(request);
    if (!this.#paramHeaders.isMismatch(request, answer)) return this.#paramHeaders.learn(request, answer);
    await this.#paramHeaders.list(request, list, { isStale: true });
    return send({ ...request, id: this.#newId() });
  }

  /** The client's own `initialize`: its parameters are kept for the sessions to come. */
  async #handshake(request: JSONRPCRequest, options: RequestOptions): Promise<Answer> {
    const old = await this.#session?.catch(() => undefined);
    if (old) await this.#drop(old);
    this.#isInitialized = false;
    this.#state.clear();
    const { session, answer } = await this.#openSession(request, options);
    this.#firstHandshake = 'result' in answer ? request : undefined;
    this.#session = Promise.resolve(session);
    return answer;
  }

  /** One session for all requests that wait for it. */
  async #current(): Promise<Session> {
    const opening = (this.#session ??= this.#reopenSession());
    try {
      return await opening;
    } catch (error) {
      if (this.#session === opening) this.#session = undefined;
      throw error;
    }
  }

  /** A new session with the client's own words of the first. */
  async #reopenSession(): Promise<Session> {
    // A client that made no handshake: its request goes as it is, and gets the server's own answer.
    if (!this.#firstHandshake) return this.#startSession();
    // A server that loses each session at once gets ever fewer of them.
    const pause = this.#begun + this.#interval - this.#options.time.now();
    if (pause > 0) await this.#options.time.sleep(pause, this.#end.signal);
    const initialize = { ...this.#firstHandshake, id: this.#newId() };
    const signal = AbortSignal.timeout(renewal);
    const options = { signal, about: initialize.id };
    const { session, answer } = await this.#openSession(initialize, options).catch((error: unknown) => {
      throw error === signal.reason ? noSession(` within ${renewal / 1000} s`) : error;
    });
    if ('error' in answer) {
      session.close();
      throw noSession();
    }
    this.#interval = Math.min(2 * this.#interval, lastInterval);
    if (!this.#isInitialized) return session;
    try {
      await session.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    } catch (error) {
      session.close();
      throw error;
    }
    const send = async (repeat: Repeat): Promise<Answer> => {
      const id = this.#newId();
      return session.request({ jsonrpc: '2.0', id, ...repeat }, { signal, about: id });
    };
    this.#tell(await this.#state.repeat(send));
    return session;
  }

  async #openSession(
    request: JSONRPCRequest,
    options: RequestOptions,
  ): Promise<{ session: Session; answer: Answer }> {
    const session = await this.#startSession();
    try {
      const answer = await session.request(request, options);
      const version = 'result' in answer ? answer.result['protocolVersion'] : undefined;
      if (typeof version === 'string') session.speak(version);
      this.#begun = this.#options.time.now();
      return { session, answer };
    } catch (error) {
      session.close();
      throw error;
    }
  }

  async #startSession(): Promise<Session> {
    const session: Session = new Session(this.#carrier, {
      ...this.#options,
      onMessage: (message, about) => this.#questions.heard(session, message, about),
      onLost: () => void this.#reopenForListening(session).catch(() => undefined),
    });
    await session.start();
    return session;
  }

  /** The listening stream learned that the session is gone: with the next one the server can speak again. */
  async #reopenForListening(session: Session): Promise<void> {
    await this.#drop(session);
    // Without a handshake there is nothing to listen for, and a stream that always ends would be opened without end.
    for (let tries = 0; this.#firstHandshake && !this.#end.signal.aborted; tries += 1) {
      try {
        await this.#current();
        return;
      } catch (error) {
        // A refusal of the broker reaches the client with its next request. Nobody waits for this session now.
        if (!(error instanceof NoAnswer)) return;
        await this.#options.time.sleep(grown(tries), this.#end.signal);
      }
    }
  }

  async #drop(session: Session): Promise<void> {
    const current = await this.#session?.catch(() => undefined);
    if (current === session) this.#session = undefined;
    if (session.wasUsed) this.#interval = firstInterval;
    this.#questions.drop(session);
    void session.retire().catch(() => undefined);
  }

  /** Milliseconds until the next try; undefined where there is none. */
  #pauseAfter(error: unknown, method: string, tries: number): number | undefined {
    if (this.#end.signal.aborted) return undefined;
    if (error instanceof SessionLost) return 0;
    if (!(error instanceof KeyturnError)) return undefined;
    const { reason, retryAfter = 0 } = error;
    // Without a token nothing was sent.
    const isUnsent = reason === 'authorization_server_unreachable' && retryAfter <= longestRest;
    const isHarmless = error instanceof NoAnswer && error.isPassing && mayReissue(method);
    return isUnsent || isHarmless ? pauses[tries] : undefined;
  }

  #tell(problem: KeyturnError | undefined): void {
    if (problem) this.#options.tell(problem);
  }

  /** An id that no client makes: the server must not take a second request for the first. */
  #newId(): RequestId {
    this.#ids += 1;
    return `keyturn-${this.#ids}`;
  }
}

function noSession(within = ''): NoAnswer {
  return new NoAnswer(
    `The server begins no new session${within}. The request did not run.`,
    'did not run',
    'Restart this server in your client.',
  );
}
