/**
 * An authenticated connection to the broker.
 *
 * Invariant: requests are sent only over a channel whose other end has proved itself. Only `getToken`, `getCredential`,
 * `proveToken` and `rejectToken` open a new channel and ask again: doing them twice is harmless, other requests may not
 * be. They do so for a bounded time, until a broker answers.
 */
import { untilAborted } from '../base/abort.ts';
import { KeyturnError, reasonOf, Unreachable } from '../base/errors.ts';
import { connectTo } from '../ipc/wire/socket.ts';
import type { Identity } from '../ipc/wire/handshake-messages.ts';
import type { SocketSearch } from '../ipc/wire/socket-path.ts';
import { after, type After } from '../ipc/wire/timer.ts';
import {
  isApiKeyResult,
  isTokenProveResult,
  isTokenRejectResult,
  isTokenResult,
  type CredentialGetParams,
  type ApiKeyResult,
  type TokenGetParams,
  type TokenProveParams,
  type TokenRejectParams,
  type TokenRejectResult,
  type TokenResult,
} from '../ipc/wire/token-messages.ts';
import { Channel, type NotificationListener } from './channel.ts';
import { hello } from './hello.ts';
import { firstThatAnswers, isUnanswered } from './search.ts';
import { retry, timeouts } from './takeover.ts';

export interface RequestOptions {
  /**
   * Aborting rejects with its reason at once. The wire has no cancel: the broker goes on with the
   * request until it ends or this connection is closed.
   */
  readonly signal?: AbortSignal | undefined;
  /** Not of `request`: called when another broker is asked the same. Listeners are gone then. */
  readonly onBrokerChange?: (() => void) | undefined;
}

export interface Connection {
  readonly isOpen: boolean;
  /** What the broker said of itself in its answer to hello, which it proved. */
  readonly capabilities: readonly string[];
  /** Any method of docs/reference/wire-protocol.md. Throws the broker's refusal, or `broker_unreachable`. */
  request(method: string, params?: object, options?: RequestOptions): Promise<unknown>;
  /**
   * A token for an MCP server. If the connection was lost, or the broker stops, waits for the next broker and
   * asks it the same: up to 15 s for one that takes over, up to 10 s after one that died.
   */
  getToken(params: TokenGetParams, options?: RequestOptions): Promise<TokenResult>;
  /** As `getToken`, for an app that can use an API key as well: answers what the server of `resource` wants. */
  getCredential(params: CredentialGetParams, options?: RequestOptions): Promise<TokenResult | ApiKeyResult>;
  /**
   * The value of the DPoP header for one request with a token of the type `DPoP`. Waits for a broker as `getToken`
   * does. Throws `not_found` if the broker no longer has the token: ask for one again.
   */
  proveToken(params: TokenProveParams, options?: RequestOptions): Promise<string>;
  /** Tells the broker that an MCP server rejected a token or a key. Waits for a broker as `getToken` does. */
  rejectToken(params: TokenRejectParams, options?: RequestOptions): Promise<TokenRejectResult>;
  /** Calls `listener` for each notification, until the returned function is called. Ends with the channel. */
  onNotification(listener: NotificationListener): () => void;
  /** Ends the connection; open requests reject with `broker_unreachable`. */
  close(): void;
}

/** What requests with tokens need of a connection. */
export type TokenConnection = Pick<Connection, 'getToken' | 'getCredential' | 'proveToken' | 'rejectToken'>;

export interface OpenOptions {
  readonly identity: Identity;
  /** A path, or where to look for it: asked again for each new channel, since the next broker may listen elsewhere. */
  readonly socket: string | (() => SocketSearch);
  /** How both ends name the socket; by the file that it is unless given. */
  readonly socketId?: string | undefined;
  /** The real clock unless given. */
  readonly after?: After;
  /** False: a caller that connects again itself doesn't wait until somebody starts a broker. */
  readonly waitsForRestart?: boolean;
  /** Starts a broker, for a caller that can: called where none runs. What it throws is the answer. */
  readonly startBroker?: (() => Promise<void>) | undefined;
}

/** One socket with a handshake made on it. `accepted`: see `hello`. */
interface OpenChannel {
  readonly channel: Channel;
  readonly accepted: Promise<unknown>;
  readonly capabilities: readonly string[];
}

async function openChannel(options: OpenOptions): Promise<OpenChannel> {
  const { socket } = options;
  if (typeof socket === 'string') return openAt(socket, options);
  const search = socket();
  return firstThatAnswers(search, async (place) => openAt(place, options, search.home));
}

/** As `openChannel`. Where no broker runs, and the caller can start one, it does. */
async function openStarting(options: OpenOptions): Promise<OpenChannel> {
  try {
    return await openChannel(options);
  } catch (error) {
    if (!options.startBroker || !isUnanswered(error)) throw error;
  }
  await options.startBroker();
  return openChannel(options);
}

async function openAt(
  place: string,
  options: OpenOptions,
  home: readonly string[] = [],
): Promise<OpenChannel> {
  const { socket, socketId } = await connectTo(place);
  const channel = new Channel(socket);
  const named = options.socketId ?? socketId;
  const how = { identity: options.identity, socketId: named, home, after: options.after ?? after };
  return { channel, ...(await hello(channel, how)) };
}

/** Connects and says hello, without waiting for the broker's last word: the first request may follow. */
export async function openConnection(options: OpenOptions): Promise<Connection> {
  return new BrokerConnection(options, await openStarting(options));
}

/** Makes one handshake, waits until the broker has taken it, and hangs up. */
export async function checkHandshake(options: OpenOptions): Promise<void> {
  const { channel, accepted } = await openChannel(options);
  await accepted;
  channel.end(closedHere);
}

/** A request that three brokers in a row died of, or hung up on, is not sent to a fourth. */
const maxTries = 3;

class BrokerConnection implements Connection {
  readonly #options: OpenOptions;
  #channel: Channel;
  #opening: Promise<void> | undefined;
  #closed = false;
  /** What kept a broker from starting: another try at once would end the same way. */
  #notStarted: unknown;
  capabilities: readonly string[];

  constructor(options: OpenOptions, { channel, capabilities }: OpenChannel) {
    const { startBroker } = options;
    const start = async (): Promise<void> =>
      startBroker?.().catch((error: unknown) => {
        this.#notStarted = error;
        throw error;
      });
    this.#options = { ...options, startBroker: startBroker && start };
    this.#channel = channel;
    this.capabilities = capabilities;
  }

  get isOpen(): boolean {
    return !this.#closed && this.#channel.isOpen;
  }

  async request(method: string, params: object = {}, options: RequestOptions = {}): Promise<unknown> {
    options.signal?.throwIfAborted();
    const { answer } = this.#channel.start(method, params);
    return options.signal ? untilAborted(answer, options.signal) : answer;
  }

  async getToken(params: TokenGetParams, options: RequestOptions = {}): Promise<TokenResult> {
    return this.#persistently('token.get', params, options, isTokenResult);
  }

  async getCredential(
    params: CredentialGetParams,
    options: RequestOptions = {},
  ): Promise<TokenResult | ApiKeyResult> {
    const { kinds } = params;
    const isWanted = (result: unknown): result is TokenResult | ApiKeyResult =>
      (kinds.includes('apiKey') && isApiKeyResult(result)) ||
      (kinds.includes('token') && isTokenResult(result));
    return this.#persistently('token.get', params, options, isWanted);
  }

  async proveToken(params: TokenProveParams, options: RequestOptions = {}): Promise<string> {
    return (await this.#persistently('token.prove', params, options, isTokenProveResult)).proof;
  }

  async rejectToken(params: TokenRejectParams, options: RequestOptions = {}): Promise<TokenRejectResult> {
    return this.#persistently('token.reject', params, options, isTokenRejectResult);
  }

  /** Asks until a broker answers, with what `isAnswer` passes. */
  async #persistently<T>(
    method: string,
    params: object,
    options: RequestOptions,
    isAnswer: (result: unknown) => result is T,
  ): Promise<T> {
    let tries = 0;
    let asked: Channel | undefined;
    const result = await retry(
      async ({ reached }) => {
        if (!this.isOpen) await this.#reopen();
        const isOther = asked !== undefined && asked !== this.#channel;
        asked = this.#channel;
        if (isOther) {
          reached();
          options.onBrokerChange?.();
        }
        tries += 1;
        return this.request(method, params, options);
      },
      { waitAfter: (error) => this.#waitAfter(error, tries), signal: options.signal },
    );
    if (isAnswer(result)) return result;
    throw new KeyturnError('frame_invalid', `the broker's answer to ${method} is malformed`, {
      hint: 'Broker and client may be of different releases: update the older.',
    });
  }

  /** Undefined: this connection was closed, the broker answered, or the request seems to end each broker. */
  #waitAfter(error: unknown, tries: number): number | undefined {
    if (this.#closed || error === this.#notStarted) return undefined;
    if (reasonOf(error) === 'broker_stopping') return timeouts.nextBroker;
    if (!isUnanswered(error) || tries >= maxTries) return undefined;
    return this.#options.waitsForRestart === false ? 0 : timeouts.restart;
  }

  onNotification(listener: NotificationListener): () => void {
    return this.#channel.listen(listener);
  }

  close(): void {
    this.#closed = true;
    this.#channel.end(closedHere);
  }

  async #reopen(): Promise<void> {
    if (this.#closed) throw closedHere();
    const open = async (): Promise<void> => {
      const { channel, capabilities } = await openStarting(this.#options);
      this.#channel = channel;
      this.capabilities = capabilities;
    };
    this.#opening ??= open();
    try {
      await this.#opening;
    } finally {
      this.#opening = undefined;
    }
    if (this.#closed) this.#channel.end(closedHere);
  }
}

function closedHere(): Unreachable {
  return new Unreachable('broker_unreachable', 'this app closed its connection to the broker');
}
