/**
 * A client of the stateful revisions in front of a server of the stateless one: the handshake is answered here, each
 * request says what the client said once, and what a server's answer asks (`input_required`) is asked of the client.
 *
 * Invariant: a request goes on after the client's answers only, with the server's own `requestState`, a bounded number
 * of times.
 */
import { randomUUID } from 'node:crypto';
import { untilAborted } from '../../base/abort.ts';
import type { Time } from '../../client/takeover.ts';
import {
  type ClientWords,
  enveloped,
  SERVER_INFO_META_KEY,
  statefulRevision,
  statefulRevisions,
} from '../base/envelope.ts';
import { fieldsOf, type Fields } from '../base/json.ts';
import { rpcErrors } from '../base/errors.ts';
import { maxQuestions, maxRounds, maxSubscriptions, maxUri } from '../base/limits.ts';
import {
  type Answer,
  errorAnswer,
  isAnswer,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
  type ServerPeer,
} from '../base/messages.ts';
import { steady } from '../server/listening.ts';

/** Milliseconds before a request goes on that the server only put off. */
const putOff = 250;

/** Milliseconds before the server's changes are listened to again. Doubles up to the last. */
const relisten = { first: 1000, most: 30_000 };

export interface StatefulClientOptions {
  readonly server: ServerPeer;
  /** What the server said of itself. */
  readonly discovered: Fields;
  readonly initialize: JSONRPCRequest;
  readonly toClient: (message: JSONRPCMessage) => void;
  readonly time: Time;
}

export class StatefulClient implements ServerPeer {
  readonly #options: StatefulClientOptions;
  readonly #asked = new Map<RequestId, (answer: Answer) => void>();
  readonly #subscriptions = new Set<string>();
  #words: ClientWords;
  #listening: AbortController | undefined;
  #ids = 0;

  constructor(options: StatefulClientOptions) {
    this.#options = options;
    const params = fieldsOf(options.initialize.params);
    this.#words = {
      info: params['clientInfo'] ?? { name: 'unknown', version: '0' },
      capabilities: fieldsOf(params['capabilities']),
    };
  }

  /** The answer to the client's handshake. */
  get welcome(): Answer {
    const { discovered, initialize } = this.#options;
    const wanted = fieldsOf(initialize.params)['protocolVersion'];
    const known = statefulRevisions.find((version) => version === wanted);
    const info = fieldsOf(discovered['_meta'])[SERVER_INFO_META_KEY];
    const { instructions, capabilities } = discovered;
    return {
      jsonrpc: '2.0',
      id: initialize.id,
      result: {
        protocolVersion: known ?? statefulRevision,
        capabilities: fieldsOf(capabilities),
        serverInfo: info ?? { name: 'unknown', version: '0' },
        instructions,
      },
    };
  }

  async request(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer> {
    return this.#own(request) ?? this.#ask(request, signal);
  }

  async send(message: JSONRPCNotification | Answer): Promise<void> {
    if (isAnswer(message)) {
      if (message.id !== undefined) this.#asked.get(message.id)?.(message);
    } else if (message.method === 'notifications/initialized') this.#listen();
    // Nothing else that a client tells has a place in the stateless revision.
  }

  end(): void {
    this.#listening?.abort();
  }

  /** Requests that are none in the stateless revision. */
  #own({ id, method, params }: JSONRPCRequest): Answer | undefined {
    const { level, uri } = fieldsOf(params);
    const isMore = method === 'resources/subscribe' && typeof uri === 'string';
    if (isMore && (this.#subscriptions.size >= maxSubscriptions || uri.length > maxUri))
      return errorAnswer(id, rpcErrors.tooManySubscriptions);
    if (method === 'logging/setLevel') this.#words = { ...this.#words, logLevel: level };
    else if (isMore) this.#subscriptions.add(uri);
    else if (method === 'resources/unsubscribe' && typeof uri === 'string') this.#subscriptions.delete(uri);
    else if (method !== 'ping') return undefined;
    if (method.startsWith('resources/')) this.#listen();
    return { jsonrpc: '2.0', id, result: {} };
  }

  async #ask(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer> {
    let asked = request;
    for (let round = 0; ; round += 1) {
      const answer = await this.#options.server.request(enveloped(asked, this.#words), signal);
      if ('error' in answer) return { ...answer, id: request.id };
      const { resultType, inputRequests, requestState, ...result } = answer.result;
      if (resultType !== 'input_required') return { ...answer, id: request.id, result };
      if (round === maxRounds) return errorAnswer(request.id, rpcErrors.unasked);
      const questions = Object.entries(fieldsOf(inputRequests));
      if (this.#asked.size + questions.length > maxQuestions)
        return errorAnswer(request.id, rpcErrors.tooManyQuestions);
      if (questions.length === 0) await this.#options.time.sleep(putOff, signal);
      const responses = await this.#answers(questions, signal);
      if (!responses) return errorAnswer(request.id, rpcErrors.unasked);
      const more = questions.length === 0 ? {} : { inputResponses: responses };
      // Its own id for each: to a stateless server they are requests like any other.
      const id = `keyturn-${typeof request.id}-${request.id}-${round + 1}`;
      asked = { ...request, id, params: { ...request.params, ...more, requestState } };
    }
  }

  /** Undefined: the client can't be asked, or gives an error. */
  async #answers(questions: [string, unknown][], signal: AbortSignal): Promise<Fields | undefined> {
    const ask = async ([key, question]: [string, unknown]) =>
      [key, await this.#askClient(fieldsOf(question), signal)] as const;
    const answers = await Promise.all(questions.map(ask));
    return answers.some(([, answer]) => answer === undefined) ? undefined : Object.fromEntries(answers);
  }

  async #askClient({ method, params }: Fields, signal: AbortSignal): Promise<unknown> {
    if (typeof method !== 'string' || !this.#canBeAsked(method, fieldsOf(params))) return undefined;
    this.#ids += 1;
    const id = `keyturn-ask-${this.#ids}`;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#asked.set(id, resolve);
    try {
      const asked = fieldsOf(params);
      // The stateful revisions want an id for a page that is to be opened.
      const page = asked['mode'] === 'url' ? { elicitationId: randomUUID() } : {};
      this.#options.toClient({ jsonrpc: '2.0', id, method, params: { ...page, ...asked } });
      const answer = await untilAborted(promise, signal, () =>
        this.#options.toClient({
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: id },
        }),
      );
      return 'result' in answer ? answer.result : undefined;
    } finally {
      this.#asked.delete(id);
    }
  }

  #canBeAsked(method: string, params: Fields): boolean {
    const { elicitation, sampling, roots } = this.#words.capabilities;
    if (method === 'sampling/createMessage') return sampling !== undefined;
    if (method === 'roots/list') return roots !== undefined;
    if (method !== 'elicitation/create' || elicitation === undefined) return false;
    return params['mode'] !== 'url' || fieldsOf(elicitation)['url'] !== undefined;
  }

  /** Listens to what changes at the server, from now on to what is subscribed now. */
  #listen(): void {
    const capabilities = fieldsOf(this.#options.discovered['capabilities']);
    const changes = (name: string): boolean => fieldsOf(capabilities[name])['listChanged'] === true;
    const uris = [...this.#subscriptions];
    const notifications = {
      ...(changes('tools') ? { toolsListChanged: true } : {}),
      ...(changes('prompts') ? { promptsListChanged: true } : {}),
      ...(changes('resources') ? { resourcesListChanged: true } : {}),
      ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
    };
    this.#listening?.abort();
    this.#listening = undefined;
    if (Object.keys(notifications).length === 0) return;
    this.#listening = new AbortController();
    void this.#keepListening(notifications, this.#listening.signal).catch(() => undefined);
  }

  /** Until it is aborted: a stream ends with a restart of the server, or when a proxy has seen enough of it. */
  async #keepListening(notifications: Fields, signal: AbortSignal): Promise<void> {
    const { server, time } = this.#options;
    let pause = relisten.first;
    while (!signal.aborted) {
      const began = time.now();
      const request = {
        jsonrpc: '2.0',
        id: `keyturn-listen-${randomUUID()}`,
        method: 'subscriptions/listen',
        params: { notifications },
      } as const;
      // A server without such a stream says so with an error, and then there is nothing to listen to.
      const answer = await server.request(enveloped(request, this.#words), signal).catch(() => undefined);
      if (answer && 'error' in answer) return;
      if (time.now() - began >= steady) pause = relisten.first;
      await time.sleep(pause, signal);
      pause = Math.min(2 * pause, relisten.most);
    }
  }
}
