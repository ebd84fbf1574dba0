/**
 * A client of the stateless revision in front of a server of the stateful ones: the bridge holds the session, and what
 * the server asks in the middle of a request becomes an `input_required` answer to it.
 *
 * Invariant: a request that waits for the client's answers goes on with the first request that names its state, once;
 * it waits for a bounded time, and so many at most wait.
 */
import { untilAborted } from '../../base/abort.ts';
import {
  bare,
  clientWordsOf,
  SERVER_INFO_META_KEY,
  statelessRevision,
  SUBSCRIPTION_ID_META_KEY,
} from '../base/envelope.ts';
import { fieldsOf, type Fields } from '../base/json.ts';
import { rpcErrors } from '../base/errors.ts';
import { maxParked, parkedFor } from '../base/limits.ts';
import {
  type Answer,
  errorAnswer,
  isRequest,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
  type ServerPeer,
  type RpcError,
} from '../base/messages.ts';
import { Cancelled } from '../server/upstream.ts';

export interface StatelessClientOptions {
  readonly server: ServerPeer;
  /** The server's answer to the bridge's handshake. */
  readonly initialized: Fields;
  readonly toClient: (message: JSONRPCMessage) => void;
}

/** Only these may be answered with `input_required`. */
const askable: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Answers that the stateless revision lets a client keep for a time. */
const keepable: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

const keepNothing = { ttlMs: 0, cacheScope: 'private' } as const;

const unanswered: RpcError = { code: -32_603, message: 'The client gave no answer.' };

/** A request of the client that the server has not answered. */
interface OpenCall {
  readonly method: string;
  readonly abort: AbortController;
  readonly answer: Promise<Answer>;
  /** What the server asked and the client was not told yet. */
  readonly questions: JSONRPCRequest[];
  asked: PromiseWithResolvers<void>;
}

export class StatelessClient implements ServerPeer {
  readonly #options: StatelessClientOptions;
  /** By the id under which the server knows them. */
  readonly #open = new Map<RequestId, OpenCall>();
  readonly #parked = new Map<
    string,
    { readonly open: OpenCall; readonly asked: Map<string, RequestId>; readonly timer: NodeJS.Timeout }
  >();
  readonly #subscriptions = new Map<RequestId, Fields>();
  #logLevel: unknown;
  #states = 0;

  constructor(options: StatelessClientOptions) {
    this.#options = options;
  }

  async request(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer> {
    if (request.method === 'server/discover') return this.#discovered(request.id);
    if (request.method === 'subscriptions/listen') return this.#listen(request, signal);
    const state = fieldsOf(request.params)['requestState'];
    if (typeof state === 'string') return this.#goOn(request, state, signal);
    await this.#setLevel(clientWordsOf(request).logLevel, signal);
    // The client may have cancelled the request meanwhile: then the server never gets it.
    signal.throwIfAborted();
    return this.#settle(request, this.#begin(request, signal), signal);
  }

  /** A stateless client tells nothing but what it has cancelled, which the bridge sees before. */
  async send(_message: JSONRPCNotification | Answer): Promise<void> {}

  /** What the server sends by itself. */
  heard(message: JSONRPCMessage, about: RequestId | undefined): void {
    if (isRequest(message)) return this.#question(message, about);
    if (!('method' in message)) return;
    const { method } = message;
    if (method === 'notifications/progress' || method === 'notifications/message')
      return this.#options.toClient(message);
    for (const [id, wanted] of this.#subscriptions) {
      if (!wants(wanted, message)) continue;
      const params = fieldsOf(message.params);
      const meta = { ...fieldsOf(params['_meta']), [SUBSCRIPTION_ID_META_KEY]: id };
      this.#options.toClient({ ...message, params: { ...params, _meta: meta } });
    }
  }

  #discovered(id: RequestId): Answer {
    const { capabilities, serverInfo, instructions } = this.#options.initialized;
    const { name, version } = fieldsOf(serverInfo);
    const isNamed = typeof name === 'string' && typeof version === 'string';
    const result = {
      resultType: 'complete',
      ...keepNothing,
      supportedVersions: [statelessRevision],
      capabilities: fieldsOf(capabilities),
      instructions,
      ...(isNamed && { _meta: { [SERVER_INFO_META_KEY]: serverInfo } }),
    };
    return { jsonrpc: '2.0', id, result };
  }

  #begin(request: JSONRPCRequest, signal: AbortSignal): OpenCall {
    const abort = new AbortController();
    // An id of the bridge's own: the client may use its id again while this request waits for its answers.
    this.#states += 1;
    const id = `keyturn-call-${this.#states}`;
    // The first request may also be cancelled while its questions are on their way to the client.
    const until = AbortSignal.any([signal, abort.signal]);
    const answer = this.#options.server.request({ ...bare(request), id }, until);
    const open: OpenCall = {
      method: request.method,
      abort,
      answer,
      questions: [],
      asked: Promise.withResolvers(),
    };
    this.#open.set(id, open);
    const done = (): void => {
      this.#open.delete(id);
      // What the client was not told yet waits for nothing any more.
      for (const question of open.questions.splice(0)) this.#refuse(errorAnswer(question.id, unanswered));
    };
    void answer.catch(() => undefined).finally(done);
    return open;
  }

  /** The server's answer, or what it asks first. */
  async #settle({ id }: JSONRPCRequest, open: OpenCall, signal: AbortSignal): Promise<Answer> {
    const cancel = (): void => open.abort.abort(signal.reason);
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel, { once: true });
    try {
      const answer = await Promise.race([
        open.answer,
        open.questions.length > 0 ? undefined : open.asked.promise,
      ]);
      return answer ? complete(answer, id, open.method) : this.#park(id, open);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  #park(id: RequestId, open: OpenCall): Answer {
    this.#states += 1;
    const requestState = `keyturn-${this.#states}`;
    const asked = new Map<string, RequestId>();
    const inputRequests: Record<string, unknown> = {};
    for (const [index, { id: questionId, method, params }] of open.questions.splice(0).entries()) {
      asked.set(`q${index}`, questionId);
      inputRequests[`q${index}`] = { method, ...(params === undefined ? {} : { params }) };
    }
    open.asked = Promise.withResolvers();
    const timer = setTimeout(() => this.#forget(requestState), parkedFor);
    timer.unref();
    this.#parked.set(requestState, { open, asked, timer });
    const [oldest] = this.#parked.keys();
    if (this.#parked.size > maxParked && oldest !== undefined) this.#forget(oldest);
    return { jsonrpc: '2.0', id, result: { resultType: 'input_required', inputRequests, requestState } };
  }

  async #goOn(request: JSONRPCRequest, state: string, signal: AbortSignal): Promise<Answer> {
    const parked = this.#parked.get(state);
    if (!parked || parked.open.method !== request.method)
      return errorAnswer(request.id, rpcErrors.unknownState);
    this.#parked.delete(state);
    clearTimeout(parked.timer);
    const responses = fieldsOf(fieldsOf(request.params)['inputResponses']);
    for (const [key, id] of parked.asked) {
      const answer = responses[key];
      await this.#options.server.send(
        answer === undefined
          ? errorAnswer(id, unanswered)
          : { jsonrpc: '2.0', id, result: { ...fieldsOf(answer) } },
      );
    }
    return this.#settle(request, parked.open, signal);
  }

  #forget(state: string): void {
    const parked = this.#parked.get(state);
    if (!parked) return;
    this.#parked.delete(state);
    clearTimeout(parked.timer);
    parked.open.answer.catch(() => undefined);
    for (const id of parked.asked.values()) this.#refuse(errorAnswer(id, unanswered));
    parked.open.abort.abort(new Cancelled('the client has not gone on'));
  }

  #question(question: JSONRPCRequest, about: RequestId | undefined): void {
    const [only, second] = this.#open.values();
    const open = (about === undefined ? undefined : this.#open.get(about)) ?? (second ? undefined : only);
    if (question.method === 'ping') return this.#refuse({ jsonrpc: '2.0', id: question.id, result: {} });
    if (!open || !askable.has(open.method)) {
      const message = 'The client answers questions about a call, a prompt or a resource only.';
      return this.#refuse(errorAnswer(question.id, { code: -32_601, message }));
    }
    open.questions.push(question);
    open.asked.resolve();
  }

  #refuse(answer: Answer): void {
    // The server notices a broken connection by itself.
    void this.#options.server.send(answer).catch(() => undefined);
  }

  /** Open until it is cancelled; what changes meanwhile goes to the client under its id. */
  async #listen({ id, params }: JSONRPCRequest, signal: AbortSignal): Promise<Answer> {
    const notifications = fieldsOf(fieldsOf(params)['notifications']);
    try {
      for (const uri of urisOf(notifications)) await this.#tell('resources/subscribe', { uri }, signal);
      signal.throwIfAborted();
      this.#subscriptions.set(id, notifications);
      const meta = { [SUBSCRIPTION_ID_META_KEY]: id };
      this.#options.toClient({
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications, _meta: meta },
      });
      return await untilAborted(new Promise<never>(() => undefined), signal);
    } finally {
      this.#subscriptions.delete(id);
      const still = new Set([...this.#subscriptions.values()].flatMap(urisOf));
      for (const uri of urisOf(notifications)) {
        if (!still.has(uri))
          void this.#tell('resources/unsubscribe', { uri }, AbortSignal.timeout(parkedFor));
      }
    }
  }

  async #setLevel(level: unknown, signal: AbortSignal): Promise<void> {
    const canLog = fieldsOf(this.#options.initialized['capabilities'])['logging'] !== undefined;
    if (level === undefined || level === this.#logLevel || !canLog) return;
    await this.#tell('logging/setLevel', { level }, signal);
    // A level that never reached the server is sent again with the next request.
    if (!signal.aborted) this.#logLevel = level;
  }

  /** A request whose answer says nothing. A server that refuses it sends less; that is all. */
  async #tell(method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<void> {
    this.#states += 1;
    const id = `keyturn-own-${this.#states}`;
    await this.#options.server.request({ jsonrpc: '2.0', id, method, params }, signal).catch(() => undefined);
  }
}

function complete(answer: Answer, id: RequestId, method: string): Answer {
  if ('error' in answer) return { ...answer, id };
  const more = keepable.has(method) ? keepNothing : {};
  return { ...answer, id, result: { ...more, ...answer.result, resultType: 'complete' } };
}

function urisOf(notifications: Fields): string[] {
  const uris = notifications['resourceSubscriptions'];
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];
}

const switches: Readonly<Record<string, string>> = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
};

function wants(wanted: Fields, { method, params }: JSONRPCNotification): boolean {
  if (method === 'notifications/resources/updated')
    return urisOf(wanted).includes(String(fieldsOf(params)['uri']));
  const name = switches[method];
  return name !== undefined && wanted[name] === true;
}
