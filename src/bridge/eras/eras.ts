/**
 * Which revisions client and server speak, found out with the first message, and who stands between them.
 *
 * Invariant: where both speak alike, messages pass as they are.
 */
import { randomUUID } from 'node:crypto';
import { untilAborted } from '../../base/abort.ts';
import { KeyturnError } from '../../base/errors.ts';
import type { Time } from '../../client/takeover.ts';
import {
  clientWordsOf,
  enveloped,
  isStateless,
  statefulRevision,
  statefulRevisions,
  statelessRevision,
} from '../base/envelope.ts';
import { fieldsOf, type Fields } from '../base/json.ts';
import {
  type Answer,
  isAnswer,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
  type ServerPeer,
} from '../base/messages.ts';
import { NoAnswer, NotOlder } from '../base/errors.ts';
import { WrongTransport } from '../server/session.ts';
import type { Upstream } from '../server/upstream.ts';
import { StatefulClient } from './stateful-client.ts';
import { StatelessClient } from './stateless-client.ts';

export interface ErasOptions {
  readonly server: Pick<Upstream, 'request' | 'send' | 'older'>;
  readonly toClient: (message: JSONRPCMessage) => void;
  readonly transport?: TransportChoice | undefined;
  readonly time: Time;
}

/** Which transport is tried, and in which order: mcp-remote's words. The first is its default. */
export type TransportChoice = 'http-first' | 'sse-first' | 'http-only' | 'sse-only';

/** For the server's side of a stateless client. */
interface Search {
  readonly abort: AbortController;
  readonly way: Promise<ServerPeer>;
}

/** JSON-RPC codes by which a server says that it knows no handshake, or no such method. */
const otherEra = new Set([-32_022, -32_601, -32_602, -32_600]);

export class Eras implements ServerPeer {
  readonly #options: ErasOptions;
  #between: ServerPeer | undefined;
  /** The server's side of a stateless client is found once, for all requests that wait. */
  #search: Search | undefined;

  constructor(options: ErasOptions) {
    this.#options = options;
  }

  async request(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer> {
    if (request.method === 'initialize' && !isStateless(request)) return this.#handshake(request, signal);
    if (this.#between) return this.#between.request(request, signal);
    if (!isStateless(request)) return this.#options.server.request(request, signal);
    const { way } = (this.#search ??= this.#begin(request));
    return (await untilAborted(way, signal)).request(request, signal);
  }

  async send(message: JSONRPCNotification | Answer): Promise<void> {
    // What the bridge itself asked of the client is answered to the one who asked it.
    await (this.#between ?? this.#options.server).send(message);
  }

  /** What the server sends by itself. */
  heard(message: JSONRPCMessage, about: RequestId | undefined): void {
    if (this.#between instanceof StatelessClient) return this.#between.heard(message, about);
    // For a stateful client the bridge itself subscribed, and the client knows no such message.
    const method = isAnswer(message) ? undefined : message.method;
    if (this.#between instanceof StatefulClient && method === 'notifications/subscriptions/acknowledged')
      return;
    this.#options.toClient(message);
  }

  end(): void {
    if (this.#between instanceof StatefulClient) this.#between.end();
  }

  #begin(request: JSONRPCRequest): Search {
    const abort = new AbortController();
    const search: Search = { abort, way: this.#find(request, abort.signal) };
    void this.#keepWay(search);
    return search;
  }

  /** Unless a handshake came meanwhile. */
  async #keepWay(search: Search): Promise<void> {
    const way = await search.way.catch(() => undefined);
    if (this.#search !== search) return;
    this.#search = undefined;
    this.#between = way;
  }

  /**
   * A client that had no answer in time to its question for the newer era goes on with a handshake of the older one.
   */
  async #giveUp(): Promise<void> {
    const search = this.#search;
    this.#search = undefined;
    search?.abort.abort(
      new KeyturnError(
        'invalid_request',
        'The client began a handshake before this request had its answer.',
        {
          hint: 'The session goes on in the revision of the handshake.',
        },
      ),
    );
    await search?.way.catch(() => undefined);
  }

  async #handshake(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer> {
    this.end();
    this.#between = undefined;
    await this.#giveUp();
    const begun = await this.#initialize(request, signal, true);
    if ('jsonrpc' in begun) return begun;
    const { discovered } = begun;
    const between = new StatefulClient({ ...this.#options, discovered, initialize: request });
    this.#between = between;
    return between.welcome;
  }

  /**
   * The server's answer by the transport that it speaks; or what it says of itself where it speaks the stateless
   * revision, which is asked if it `isUnknown`.
   */
  async #initialize(
    request: JSONRPCRequest,
    signal: AbortSignal,
    isUnknown: boolean,
  ): Promise<Answer | { readonly discovered: Fields }> {
    const { server, transport = 'http-first' } = this.#options;
    const isOlderFirst = transport.startsWith('sse');
    const byOlder = async (): Promise<Answer | undefined> =>
      server.older(request, signal).catch((error: unknown) => {
        if (error instanceof NotOlder && transport !== 'sse-only') return undefined;
        throw error;
      });
    const first = isOlderFirst ? await byOlder() : undefined;
    if (first) return first;
    const outcome = await server.request(request, signal).catch((error: unknown) => {
      if (error instanceof WrongTransport) return error;
      throw error;
    });
    const older = olderRevision(request, outcome);
    if (older !== undefined) {
      const params = { ...fieldsOf(request.params), protocolVersion: older };
      return this.#initialize({ ...request, params }, signal, isUnknown);
    }
    const isWrong = outcome instanceof WrongTransport;
    const isOtherEra = isWrong || ('error' in outcome && otherEra.has(outcome.error.code));
    const discovered = isUnknown && isOtherEra ? await this.#discover(request, signal) : undefined;
    if (discovered) return { discovered };
    if (!isWrong) return outcome;
    const second = isOlderFirst || transport === 'http-only' ? undefined : await byOlder();
    if (second) return second;
    if (outcome.otherwise instanceof KeyturnError) throw outcome.otherwise;
    return outcome.otherwise;
  }

  /** What the server says of itself, if it speaks the stateless revision. */
  async #discover(request: JSONRPCRequest, signal: AbortSignal): Promise<Fields | undefined> {
    const words = isStateless(request)
      ? clientWordsOf(request)
      : {
          info: fieldsOf(request.params)['clientInfo'],
          capabilities: fieldsOf(fieldsOf(request.params)['capabilities']),
        };
    const asking = {
      jsonrpc: '2.0',
      id: `keyturn-discover-${randomUUID()}`,
      method: 'server/discover',
    } as const;
    const answer = await this.#options.server
      .request(enveloped(asking, words), signal)
      .catch((error: unknown) => {
        // Refusals of the broker and failures of the network say nothing of revisions.
        if (!isRefusal(error)) throw error;
        return undefined;
      });
    if (!answer || 'error' in answer) return undefined;
    const versions = answer.result['supportedVersions'];
    return Array.isArray(versions) && versions.includes(statelessRevision) ? answer.result : undefined;
  }

  /** Who stands between a stateless client and this server: nobody, where that is stateless too. */
  async #find(request: JSONRPCRequest, signal: AbortSignal): Promise<ServerPeer> {
    const { server, toClient, transport } = this.#options;
    if (transport !== 'sse-only' && (await this.#discover(request, signal))) return server;
    const { info, capabilities } = clientWordsOf(request);
    const initialize = {
      jsonrpc: '2.0',
      id: `keyturn-initialize-${randomUUID()}`,
      method: 'initialize',
      params: { protocolVersion: statefulRevision, clientInfo: info, capabilities },
    } as const;
    const answer = await this.#initialize(initialize, signal, false);
    // A server of neither: its own words about the client's request say more than ours.
    if (!('result' in answer)) return server;
    await server.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return new StatelessClient({ server, initialized: answer.result, toClient });
  }
}

/** A server should answer a handshake with its newest revision. Some refuse the client's, and name theirs. */
function olderRevision({ params }: JSONRPCRequest, outcome: Answer | WrongTransport): string | undefined {
  const refusal = outcome instanceof WrongTransport ? outcome.otherwise : outcome;
  const words = refusal instanceof KeyturnError ? refusal.message : JSON.stringify(refusal);
  const { protocolVersion: asked } = fieldsOf(params);
  const hasRefused = refusal instanceof KeyturnError || 'error' in refusal;
  if (!hasRefused || typeof asked !== 'string' || !/protocol.?version/i.test(words)) return undefined;
  // Revisions are dates, the newest first.
  return statefulRevisions.find((revision) => revision < asked && words.includes(revision));
}

/** The server answered, and not in a form of the stateless revision. One that is down for now has said nothing. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof WrongTransport ||
    (error instanceof NoAnswer && !error.isPassing) ||
    (error instanceof KeyturnError && error.reason === 'scope_insufficient')
  );
}
