/**
 * Streamable HTTP: each message is a POST, whose answer is JSON or a stream of events (MCP, Transports).
 *
 * Invariant: the stream of a request that breaks is taken up after the last event that came, and not otherwise.
 */
import { namedRevision } from '../base/envelope.ts';
import { fieldsOf } from '../base/json.ts';
import { isRequest, type JSONRPCMessage } from '../base/messages.ts';
import {
  type Carrier,
  type CarrierOptions,
  eventStream,
  isEventStream,
  type Sending,
  type Sent,
} from './carriers.ts';
import { eventsIn, readEvents, type ServerEvent, wholeText } from './event-stream.ts';
import { type Ending, firstPause, keepListening, Pauses } from './listening.ts';
import { encoded } from './param-headers.ts';
import { ServerRefusal } from './refused.ts';

/** How often in a row a stream is asked for in vain before its request ends: for 13 s, if the server names no pause. */
const maxTries = 8;

/** The server answers a POST with the stream of the older transport. */
export class OlderStream extends Error {}

/** By the stateless revision: the field that the header `Mcp-Name` repeats. */
const nameFields = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

export class Streamable implements Carrier {
  readonly isOlder = false;
  readonly #options: CarrierOptions;
  readonly #closed = new AbortController();
  readonly #pauses = new Pauses();
  #version: string | undefined;
  #hasListened = false;
  /** While the stream is open on which the server speaks by itself. */
  #listening: Promise<unknown> | undefined;
  #hasAnswered = false;
  sessionId: string | undefined;

  constructor(options: CarrierOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  speak(version: string): void {
    this.#version = version;
  }

  async send(message: JSONRPCMessage, sending: Sending): Promise<Sent> {
    const { endpoint, fetch } = this.#options;
    const signal = AbortSignal.any([sending.signal, this.#closed.signal]);
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        ...sending.headers,
        ...this.#headers(`application/json, ${eventStream}`),
        'content-type': 'application/json',
        ...statelessHeaders(message),
      },
      body: JSON.stringify(message),
      signal,
    });
    const { status } = response;
    if (!response.ok) throw await ServerRefusal.of(response, endpoint);
    // Empty is no id.
    if ('method' in message && message.method === 'initialize')
      this.sessionId = response.headers.get('mcp-session-id') || undefined;
    if (!isRequest(message) || status === 202) {
      await response.body?.cancel();
      return { status, elsewhere: this.#listening };
    }
    const isStream = isEventStream(response);
    if (isStream) await this.#follow(response, signal, sending);
    else await this.#whole(response, sending);
    return { status, isStream, elsewhere: isStream ? this.#listening : undefined };
  }

  async listen(signal: AbortSignal): Promise<void> {
    let last = '';
    const open = async (): Promise<Ending> => {
      try {
        const response = await this.#get(last, signal);
        if (!isEventStream(response)) {
          await response.body?.cancel();
          return 'none';
        }
        this.#hasListened = true;
        const listening = this.#listenTo(response, (id) => (last = id));
        this.#listening = listening;
        return await listening;
      } catch (error) {
        // The server may not know the event any more.
        last = '';
        return error instanceof ServerRefusal ? this.#endingAfter(error.status) : 'not open';
      } finally {
        this.#listening = undefined;
      }
    };
    return keepListening({ open, time: this.#options.time, signal });
  }

  async terminate(): Promise<void> {
    if (this.sessionId === undefined) return;
    const { endpoint, fetch } = this.#options;
    const init = { method: 'DELETE', headers: this.#headers('*/*'), signal: this.#closed.signal };
    const response = await fetch(endpoint, init, { isListening: true });
    await response.body?.cancel();
  }

  close(): void {
    this.#closed.abort();
  }

  /** 405: the server has no such stream. Servers without a route for it answer 404 or 501 instead. */
  #endingAfter(status: number): Ending {
    if (status === 404 && this.#hasListened) {
      this.#options.onLost();
      return 'none';
    }
    return [404, 405, 501].includes(status) ? 'none' : 'not open';
  }

  async #listenTo(response: Response, onId: (id: string) => void): Promise<Ending> {
    const { ready, hear } = this.#options;
    let retry: number | undefined;
    try {
      await readEvents(response, {
        ready,
        onEvent: ({ name, data }) => name === 'message' && hear(data),
        onId,
        onRetry: (ms) => (retry = ms),
      });
    } catch {
      // It broke, and is opened again.
    }
    return { retry };
  }

  /** A stream that ends early is asked for again, where the server has named its last event. */
  async #follow(first: Response, signal: AbortSignal, { hear, isOpen }: Sending): Promise<void> {
    let response = first;
    let last: string | undefined;
    let retry: number = firstPause;
    const hooks = {
      ready: this.#options.ready,
      onEvent: (event: ServerEvent) => this.#heard(event, hear),
      onId: (id: string) => (last = id),
      onRetry: (ms: number) => (retry = ms),
    };
    for (;;) {
      try {
        await readEvents(response, hooks);
      } catch (error) {
        if (signal.aborted || last === undefined || !isBreak(error)) throw error;
      }
      if (last === undefined || !isOpen()) return;
      response = await this.#again(last, signal, () => retry);
    }
  }

  async #again(last: string, signal: AbortSignal, retry: () => number): Promise<Response> {
    const { time } = this.#options;
    for (let tries = 1; ; tries += 1) {
      await time.sleep(this.#pauses.next(retry(), time.now()), signal);
      try {
        return await this.#get(last, signal);
      } catch (error) {
        const isFinal = error instanceof ServerRefusal && error.status < 500 && error.status !== 429;
        if (signal.aborted || tries === maxTries || isFinal) throw new StreamLost();
      }
    }
  }

  async #whole(response: Response, { hear }: Sending): Promise<void> {
    const text = await wholeText(response, this.#options.ready);
    // Events under another type.
    if (/^(?:event|data|id):/.test(text)) eventsIn(text, { onEvent: (event) => this.#heard(event, hear) });
    else this.#heard({ name: 'message', data: text }, hear);
  }

  /** The older transport begins its stream with an address. A server that has answered is of the newer one. */
  #heard({ name, data }: Pick<ServerEvent, 'name' | 'data'>, hear: (text: string) => void): void {
    if (name === 'endpoint' && !this.#hasAnswered && this.sessionId === undefined) throw new OlderStream();
    if (name !== 'message') return;
    this.#hasAnswered = true;
    hear(data);
  }

  async #get(last: string, signal: AbortSignal): Promise<Response> {
    const { endpoint, fetch } = this.#options;
    const headers = { ...this.#headers(eventStream), ...(last === '' ? {} : { 'last-event-id': last }) };
    const both = AbortSignal.any([signal, this.#closed.signal]);
    const response = await fetch(
      endpoint,
      { headers, signal: both },
      last === '' ? { isListening: true } : {},
    );
    if (!response.ok) throw await ServerRefusal.of(response, endpoint);
    return response;
  }

  #headers(accept: string): Record<string, string> {
    return {
      accept,
      ...(this.sessionId === undefined ? {} : { 'mcp-session-id': this.sessionId }),
      ...(this.#version === undefined ? {} : { 'mcp-protocol-version': this.#version }),
    };
  }
}

/** A stream broke and could not be taken up again. */
export class StreamLost extends Error {}

const isBreak = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof Error && 'code' in error);

/** A request of the stateless revision says in headers what its body says. */
function statelessHeaders(message: JSONRPCMessage): Record<string, string> {
  const version = isRequest(message) ? namedRevision(message) : undefined;
  if (!isRequest(message) || version === undefined) return {};
  const name = fieldsOf(message.params)[nameFields.get(message.method) ?? ''];
  return {
    'mcp-protocol-version': version,
    'mcp-method': message.method,
    ...(typeof name === 'string' ? { 'mcp-name': encoded(name) } : {}),
  };
}
