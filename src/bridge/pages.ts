/**
 * Pages that a server asks the user to open, for a client that can't show them: the broker puts each on a card.
 *
 * Invariant: a client that says that it shows such pages gets everything as it came. A request that the server refused
 * until a page was opened is never sent again from here; one that the server left open for an answer goes on.
 */
import { untilAborted } from '../base/abort.ts';
import { clientWordsOf, enveloped, isStateless, statefulRevision } from './base/envelope.ts';
import { fieldsOf, type Fields } from './base/json.ts';
import { rpcErrors } from './base/errors.ts';
import { maxParked, maxRounds } from './base/limits.ts';
import {
  type Answer,
  cancelledId,
  errorAnswer,
  isRequest,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
  type ServerPeer,
} from './base/messages.ts';
import {
  afterPages,
  maxPages,
  openFirst,
  type Page,
  type PageAnswer,
  pageOf,
  pagesOf,
  type ShownPages,
} from './shown-page.ts';

export interface PagesOptions {
  /** The server's side. */
  readonly server: ServerPeer;
  readonly toClient: (message: JSONRPCMessage) => void;
  readonly shown: Pick<ShownPages, 'show'>;
}

/** The protocol wants this code for a kind of question that the client never said it takes. */
const noForms = { code: -32_602, message: 'The client can’t be asked by a form.' };

/** Answers of the user to a server that asked the client something else along with them. */
interface Kept {
  readonly responses: Fields;
  /** The server's own. */
  readonly state: unknown;
}

export class Pages implements ServerPeer {
  readonly #options: PagesOptions;
  readonly #showing = new Map<RequestId, AbortController>();
  readonly #kept = new Map<string, Kept>();
  #ids = 0;
  /** Of a client of the stateful revisions, which says so once. */
  #isNeeded = false;
  /** The bridge spoke of pages where the client spoke of nothing. */
  #hasNoForms = false;

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  async request(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer> {
    if (isStateless(request)) {
      const words = clientWordsOf(request);
      if (canShow(words.capabilities)) return this.#options.server.request(request, signal);
      return this.#goOn(
        enveloped(request, { ...words, capabilities: withPages(words.capabilities) }),
        signal,
      );
    }
    if (request.method === 'initialize')
      return this.#options.server.request(this.#handshake(request), signal);
    const answer = await this.#options.server.request(request, signal);
    return this.#isNeeded ? this.#afterRefusal(answer, signal) : answer;
  }

  async send(message: JSONRPCNotification | Answer): Promise<void> {
    await this.#options.server.send(message);
  }

  /** What the server's side sends to the client. */
  heard(message: JSONRPCMessage): void {
    if (!this.#isNeeded || !('method' in message)) return this.#options.toClient(message);
    if (!isRequest(message)) {
      const ended = cancelledId(message);
      const showing = ended === undefined ? undefined : this.#showing.get(ended);
      if (showing) return showing.abort(new Error('the server has withdrawn it'));
      // Of a page that the client knows nothing of.
      if (message.method === 'notifications/elicitation/complete') return;
      return this.#options.toClient(message);
    }
    if (message.method !== 'elicitation/create') return this.#options.toClient(message);
    const page = pageOf(message.params);
    if (page) return void this.#answer(message.id, page);
    if (!this.#hasNoForms) return this.#options.toClient(message);
    // Servers of before 2025-11-25 read the bridge's word about pages as one about forms.
    return this.#tell(errorAnswer(message.id, noForms));
  }

  /** Nobody waits for the user any more. */
  end(): void {
    for (const showing of this.#showing.values()) showing.abort(new Error('the client is gone'));
  }

  /** The bridge's word in place of the client's. */
  #handshake(request: JSONRPCRequest): JSONRPCRequest {
    const params = fieldsOf(request.params);
    const { capabilities, protocolVersion } = params;
    const own = fieldsOf(capabilities);
    this.#isNeeded = !canShow(own);
    // Before this revision a server would take it for forms. Revisions are dates.
    const knows = typeof protocolVersion === 'string' && protocolVersion >= statefulRevision;
    this.#hasNoForms = knows && own['elicitation'] === undefined;
    if (!this.#isNeeded || !knows) return request;
    return { ...request, params: { ...params, capabilities: withPages(own) } };
  }

  async #answer(id: RequestId, page: Page): Promise<void> {
    const abort = new AbortController();
    this.#showing.set(id, abort);
    try {
      const { action } = await this.#options.shown.show(page, abort.signal);
      this.#tell({ jsonrpc: '2.0', id, result: { action } });
    } catch {
      // Withdrawn: nobody waits for an answer.
    } finally {
      this.#showing.delete(id);
    }
  }

  #tell(answer: Answer): void {
    // The server notices a broken connection by itself.
    void this.#options.server.send(answer).catch(() => undefined);
  }

  /** A server that wants pages opened first, and the request again after that (-32042). */
  async #afterRefusal(answer: Answer, signal: AbortSignal): Promise<Answer> {
    if (!('error' in answer) || answer.error.code !== openFirst) return answer;
    const pages = pagesOf(answer.error.data);
    if (pages.length === 0) return answer;
    const shown: PageAnswer[] = [];
    for (const page of pages) {
      const outcome = await untilAborted(this.#options.shown.show(page, signal), signal);
      shown.push(outcome);
      if (outcome.action !== 'accept') break;
    }
    return { ...answer, error: { ...answer.error, message: afterPages(shown) } };
  }

  /** A request of a stateless client, through its server's questions about pages. */
  async #goOn(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer> {
    let sent = this.#merged(request);
    for (let round = 0; ; round += 1) {
      const answer = { ...(await this.#options.server.request(sent, signal)), id: request.id };
      if ('error' in answer) return this.#afterRefusal(answer, signal);
      const { resultType, inputRequests, requestState: state } = answer.result;
      const questions = resultType === 'input_required' ? Object.entries(fieldsOf(inputRequests)) : [];
      const pages = questions.flatMap(([key, question]) => pageIn(key, question));
      if (pages.length === 0) return answer;
      if (round === maxRounds) return errorAnswer(request.id, rpcErrors.unasked);
      const responses = await this.#responses(pages, signal);
      const shown = new Set(pages.map(({ key }) => key));
      const others = questions.filter(([key]) => !shown.has(key));
      if (others.length > 0) {
        const requestState = this.#keep({ responses, state });
        return {
          ...answer,
          result: { ...answer.result, inputRequests: Object.fromEntries(others), requestState },
        };
      }
      sent = withResponses({ ...request, id: this.#newId() }, { responses, state });
    }
  }

  async #responses(pages: readonly PageRequest[], signal: AbortSignal): Promise<Fields> {
    const responses: Record<string, unknown> = {};
    for (const { key, page } of pages) {
      // More of them than a user reads.
      const isTooMany = Object.keys(responses).length >= maxPages;
      const { action } = isTooMany
        ? { action: 'cancel' }
        : await untilAborted(this.#options.shown.show(page, signal), signal);
      responses[key] = { action };
    }
    return responses;
  }

  #keep(kept: Kept): string {
    const state = this.#newId();
    this.#kept.set(state, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxParked && oldest !== undefined) this.#kept.delete(oldest);
    return state;
  }

  /** With the user's answers beside those of the client. */
  #merged(request: JSONRPCRequest): JSONRPCRequest {
    const { requestState, inputResponses } = fieldsOf(request.params);
    const kept = typeof requestState === 'string' ? this.#kept.get(requestState) : undefined;
    if (!kept) return request;
    this.#kept.delete(String(requestState));
    return withResponses(request, {
      ...kept,
      responses: { ...fieldsOf(inputResponses), ...kept.responses },
    });
  }

  #newId(): string {
    this.#ids += 1;
    return `keyturn-page-${this.#ids}`;
  }
}

interface PageRequest {
  readonly key: string;
  readonly page: Page;
}

function pageIn(key: string, question: unknown): PageRequest[] {
  const { method, params } = fieldsOf(question);
  const page = method === 'elicitation/create' ? pageOf(params) : undefined;
  return page ? [{ key, page }] : [];
}

function withResponses(request: JSONRPCRequest, { responses, state }: Kept): JSONRPCRequest {
  const { requestState: _state, inputResponses: _responses, ...params } = fieldsOf(request.params);
  const more = { inputResponses: responses, requestState: state };
  return { ...request, params: { ...params, ...more } };
}

function canShow({ elicitation }: Fields): boolean {
  return fieldsOf(elicitation)['url'] !== undefined;
}

/** An empty word about elicitation means forms. */
function withPages(capabilities: Fields): Fields {
  const { elicitation } = capabilities;
  const own = fieldsOf(elicitation);
  const forms = elicitation !== undefined && Object.keys(own).length === 0 ? { form: {} } : own;
  return { ...capabilities, elicitation: { ...forms, url: {} } };
}
