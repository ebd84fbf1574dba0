/**
 * An authenticated connection to the broker.
 *
 * Invariant: requests are sent only over a channel whose other end has proved itself. Only `getToken`
 * opens a new channel, once per call: asking for a token twice is harmless, other requests may not be.
 */
import { KeyturnError, Unreachable } from '../errors.ts';
import { connectTo } from '../ipc/endpoint.ts';
import {
  type After,
  type Identity,
  isTokenRejectResult,
  isTokenResult,
  type TokenGetParams,
  type TokenRejectParams,
  type TokenRejectResult,
  type TokenResult,
} from '../ipc/wire.ts';
import { Channel, type NotificationListener } from './channel.ts';
import { hello } from './hello.ts';

export interface RequestOptions {
  /**
   * Aborting rejects with its reason at once. The wire has no cancel: the broker goes on with the
   * request until it ends or this connection is closed.
   */
  readonly signal?: AbortSignal | undefined;
}

export interface Connection {
  readonly isOpen: boolean;
  /** Any method of docs/wire.md. Throws the broker's refusal, or `broker_unreachable`. */
  request(method: string, params?: object, options?: RequestOptions): Promise<unknown>;
  /** A token for a protected server. Reconnects once if the connection was lost. */
  getToken(params: TokenGetParams, options?: RequestOptions): Promise<TokenResult>;
  /** Tells the broker that a protected server refused a token. */
  rejectToken(params: TokenRejectParams, options?: RequestOptions): Promise<TokenRejectResult>;
  /** Calls `listener` for each notification, until the returned function is called. Ends with the channel. */
  onNotification(listener: NotificationListener): () => void;
  /** Ends the connection; open requests reject with `broker_unreachable`. */
  close(): void;
}

export interface OpenOptions {
  readonly identity: Identity;
  /** From `findSocket`. */
  readonly socket: string;
  readonly after: After;
}

/** One socket with a handshake made on it. `proven`: see `hello`. */
async function openChannel(options: OpenOptions): Promise<{ channel: Channel; proven: Promise<void> }> {
  const { socket, endpoint } = await connectTo(options.socket);
  const channel = new Channel(socket);
  const { proven } = await hello(channel, options.identity, endpoint, options.after);
  return { channel, proven };
}

/** Connects and says hello, without waiting for the broker's last word: the first request may follow. */
export async function openConnection(options: OpenOptions): Promise<Connection> {
  const { channel } = await openChannel(options);
  return new BrokerConnection(options, channel);
}

/** Makes one handshake, waits until the broker has taken it, and hangs up. */
export async function knock(options: OpenOptions): Promise<void> {
  const { channel, proven } = await openChannel(options);
  await proven;
  channel.fail(closedHere());
}

class BrokerConnection implements Connection {
  readonly #options: OpenOptions;
  #channel: Channel;
  #opening: Promise<Channel> | undefined;
  #closed = false;

  constructor(options: OpenOptions, channel: Channel) {
    this.#options = options;
    this.#channel = channel;
  }

  get isOpen(): boolean {
    return !this.#closed && this.#channel.isOpen;
  }

  async request(method: string, params: object = {}, options: RequestOptions = {}): Promise<unknown> {
    options.signal?.throwIfAborted();
    const { answer } = this.#channel.start(method, params);
    return options.signal ? unlessAborted(answer, options.signal) : answer;
  }

  async getToken(params: TokenGetParams, options: RequestOptions = {}): Promise<TokenResult> {
    if (!this.isOpen) await this.#reopen();
    const channel = this.#channel;
    let result: unknown;
    try {
      result = await this.request('token.get', params, options);
    } catch (error) {
      const lost = error instanceof Unreachable && error.reason === 'broker_unreachable';
      if (!lost || this.#closed) throw error;
      // Another caller may have reopened it in the meantime.
      if (this.#channel === channel) await this.#reopen();
      result = await this.request('token.get', params, options);
    }
    if (isTokenResult(result)) return result;
    throw malformed('token.get');
  }

  async rejectToken(params: TokenRejectParams, options: RequestOptions = {}): Promise<TokenRejectResult> {
    const result = await this.request('token.reject', params, options);
    if (isTokenRejectResult(result)) return result;
    throw malformed('token.reject');
  }

  onNotification(listener: NotificationListener): () => void {
    return this.#channel.listen(listener);
  }

  close(): void {
    this.#closed = true;
    this.#channel.fail(closedHere());
  }

  async #reopen(): Promise<void> {
    if (this.#closed) throw closedHere();
    this.#opening ??= openChannel(this.#options).then(({ channel }) => channel);
    try {
      this.#channel = await this.#opening;
    } finally {
      this.#opening = undefined;
    }
    if (this.#closed) this.#channel.fail(closedHere());
  }
}

async function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([answer, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function closedHere(): Unreachable {
  return new Unreachable('broker_unreachable', 'this program closed its connection to the broker');
}

function malformed(method: string): KeyturnError {
  return new KeyturnError('frame_invalid', `the broker's answer to ${method} is malformed`, {
    hint: 'Broker and client may be of different releases: update the older.',
  });
}
