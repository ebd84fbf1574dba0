/**
 * The bridge: carries messages between a client on standard input and output and an MCP server, and attaches
 * the broker's tokens on the way.
 *
 * Invariant: each request of the client gets one answer: the server's, or an error that says what happened and what to
 * do. Methods that the bridge doesn't know pass through.
 */
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '../base/abort.ts';
import { KeyturnError } from '../base/errors.ts';
import type { Connection } from '../client/connection.ts';
import { machineTime, type Time } from '../client/takeover.ts';
import { ClientSide } from './client-side.ts';
import { Eras, type TransportChoice } from './eras/eras.ts';
import { userLine, rpcErrorOf, rpcErrors } from './base/errors.ts';
import { lastAnswers, lastWords, maxRequests, slowBytes, parentLook } from './base/limits.ts';
import {
  type Answer,
  cancelledId,
  errorAnswer,
  isNotification,
  isRequest,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
} from './base/messages.ts';
import { Pages } from './pages.ts';
import { authorizedFetch } from './server/authorized-fetch.ts';
import { Cancelled, Upstream } from './server/upstream.ts';
import { ShownPages } from './shown-page.ts';
import type { ToolFilter } from './tool-filter.ts';

export interface BridgeOptions {
  /** The MCP server's endpoint, checked by `endpointUrl`. */
  readonly endpoint: URL;
  /**
   * The broker, as the app of this entry: a new connection with each call. Called again after it rejected, and
   * for each page; what it rejects with is the answer to the request that needed it.
   */
  readonly connection: () => Promise<Connection>;
  /** Whose tokens the requests carry; the broker's choice unless given. */
  readonly account?: string | undefined;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** One line for the user. */
  readonly say: (line: string) => void;
  /** Ends the bridge, as the end of `stdin` does. */
  readonly signal: AbortSignal;
  /** What sends the requests, as this broker's settings say. */
  readonly fetchFor: (broker: Connection) => Promise<typeof globalThis.fetch>;
  /** `http-first` unless given. */
  readonly transport?: TransportChoice | undefined;
  /** Leaves tools out. */
  readonly tools?: ToolFilter;
  /** The machine's unless given. */
  readonly time?: Time;
}

/** Resolves when the client is gone and the server's session has ended, or could not be ended in time. */
export async function runBridge(options: BridgeOptions): Promise<void> {
  await new Bridge(options).run();
}

interface UnderWay {
  readonly abort: AbortController;
  readonly answered: Promise<void>;
}

class Bridge {
  readonly #options: BridgeOptions;
  readonly #client: ClientSide;
  readonly #upstream: Upstream;
  readonly #eras: Eras;
  #broker: Connection | undefined;
  readonly #pages: Pages;
  readonly #underWay = new Map<RequestId, UnderWay>();
  readonly #ended = Promise.withResolvers<void>();
  #bytes = 0;
  /**
   * The handshake is over, up to `notifications/initialized`: strict servers refuse what comes before, and a client may
   * write it all without waiting.
   */
  #inOrder: Promise<unknown> = Promise.resolve();

  constructor(options: BridgeOptions) {
    this.#options = options;
    const { stdin, stdout, endpoint, account, connection, fetchFor, time = machineTime } = options;
    this.#client = new ClientSide({
      stdin,
      stdout,
      onMessage: (message, size) => this.#fromClient(message, size),
      onEnd: () => void this.#answerLast(),
    });
    this.#upstream = new Upstream({
      endpoint,
      fetch: authorizedFetch({
        endpoint,
        connection: async () => this.#connect(),
        account,
        fetchFor,
        waits: () =>
          options.say(
            // Without the query, which may hold a secret: clients write this to their logs.
            `keyturn bridge: a request to ${endpoint.origin}${endpoint.pathname} waits for the broker, which may be asking you. Answer where it runs, in the Keyturn app or with: keyturn request`,
          ),
      }),
      onMessage: (message, about) => this.#eras.heard(message, about),
      tell: (problem) => void this.#report(problem),
      ready: async () => this.#client.ready(),
      time,
    });
    this.#eras = new Eras({
      server: this.#upstream,
      toClient: (message) => this.#pages.heard(message),
      transport: options.transport,
      time,
    });
    this.#pages = new Pages({
      server: this.#eras,
      toClient: (message) => void this.#client.send(message),
      shown: new ShownPages({ endpoint, connection, report: (error) => this.#report(error), time }),
    });
  }

  /** The connection for tokens. Kept, so that no broker is started only to end a session. */
  async #connect(): Promise<Connection> {
    this.#broker = await this.#options.connection();
    return this.#broker;
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    const end = (): void => this.#ended.resolve();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    this.#client.start();
    await this.#ended.promise;
    signal.removeEventListener('abort', end);
    for (const { abort } of this.#underWay.values()) abort.abort(new Cancelled('the client is gone'));
    this.#pages.end();
    this.#eras.end();
    await Promise.race([
      this.#upstream.end(this.#broker?.isOpen !== false),
      sleep(lastWords, undefined, { ref: false }),
    ]);
    this.#client.close();
  }

  /** The input is over: what was asked before is answered, if anybody still reads. */
  async #answerLast(): Promise<void> {
    const { stdout, time = machineTime } = this.#options;
    const answered = Promise.all([...this.#underWay.values()].map(({ answered: sent }) => sent));
    if (stdout.writable) await Promise.race([answered, time.sleep(lastAnswers)]).catch(() => undefined);
    for (const id of this.#underWay.keys()) void this.#client.send(errorAnswer(id, rpcErrors.inputEnded));
    this.#ended.resolve();
  }

  #fromClient(message: JSONRPCMessage, size: number): void {
    if (isRequest(message)) return this.#take(message, size);
    if (!isNotification(message)) return void this.#pass(this.#pages.send(message));
    const cancelled = cancelledId(message);
    if (cancelled === undefined) return void this.#notify(message, size);
    const { reason } = message.params ?? {};
    this.#underWay.get(cancelled)?.abort.abort(new Cancelled(typeof reason === 'string' ? reason : ''));
  }

  async #notify(message: JSONRPCNotification, size: number): Promise<void> {
    const before = this.#inOrder;
    const send = async (): Promise<void> => {
      await before;
      await this.#pass(this.#pages.send(message));
    };
    this.#count(size);
    const sent = send();
    if (message.method === 'notifications/initialized') this.#inOrder = sent;
    await sent;
    this.#count(-size);
  }

  #take(request: JSONRPCRequest, size: number): void {
    const refusal = this.#underWay.has(request.id)
      ? rpcErrors.duplicateId
      : this.#underWay.size >= maxRequests
        ? rpcErrors.tooManyRequests
        : this.#options.tools?.refusal(request);
    if (refusal) return void this.#client.send(errorAnswer(request.id, refusal));
    const abort = new AbortController();
    this.#underWay.set(request.id, { abort, answered: this.#serve(request, size, abort.signal) });
  }

  async #serve(request: JSONRPCRequest, size: number, signal: AbortSignal): Promise<void> {
    this.#count(size);
    const answering = this.#answerTo(request, signal);
    if (request.method === 'initialize') this.#inOrder = answering;
    const answer = await answering;
    // Before the client has the answer: then the id is free again.
    this.#underWay.delete(request.id);
    this.#count(-size);
    if (answer) await this.#client.send(answer);
    else this.#client.settle(request.id);
  }

  /** Undefined where the client waits for none: it has cancelled the request. */
  async #answerTo(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer | undefined> {
    try {
      await untilAborted(this.#inOrder, signal);
      const answer = await this.#pages.request(request, signal);
      return this.#options.tools?.filtered(request, answer) ?? answer;
    } catch (error) {
      return signal.aborted ? undefined : errorAnswer(request.id, rpcErrorOf(this.#report(error)));
    }
  }

  /** Work that the client doesn't wait for: only the user hears of a failure. */
  async #pass(sent: Promise<void>): Promise<void> {
    await sent.catch((error: unknown) => this.#report(error));
  }

  #report(error: unknown): KeyturnError {
    const known =
      error instanceof KeyturnError
        ? error
        : new KeyturnError('internal', 'The bridge failed. This is a fault of Keyturn’s; please report it.', {
            cause: error,
          });
    this.#options.say(userLine(known));
    return known;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#client.slow(this.#bytes > slowBytes);
  }
}

/**
 * A bridge lives as long as the process that started it, even if another process holds the parent's end of the pipe.
 * Aborts when the process has another parent than `parent`, or gets a signal to end. `parent`: its id, from a time
 * before the bridge's modules were loaded: it may die while they are.
 */
export function abortWhenParentExits(parent: number): AbortSignal {
  const end = new AbortController();
  // Node has no event for the death of the parent.
  const look = (): void => {
    if (process.ppid !== parent) end.abort();
  };
  look();
  setInterval(look, parentLook).unref();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => end.abort());
  return end.signal;
}
