/**
 * An authenticated connection to the broker.
 *
 * Invariant: requests are sent only over a channel whose other end has proved itself. Only `getToken`
 * opens a new channel: asking for a token twice is harmless, other requests may not be. It does so once
 * per call, or, where a broker stops to let another take over, until the next one answers.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyturnError, reasonOf, Unreachable } from '../errors.ts';
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
  /** `getToken` only: called when another broker has taken over and is asked the same. Listeners are gone then. */
  readonly onTakeover?: (() => void) | undefined;
}

export interface Connection {
  readonly isOpen: boolean;
  /** What the broker said of itself in its proven hello. */
  readonly capabilities: readonly string[];
  /** Any method of docs/wire.md. Throws the broker's refusal, or `broker_unreachable`. */
  request(method: string, params?: object, options?: RequestOptions): Promise<unknown>;
  /**
   * A token for a protected server. Reconnects once if the connection was lost; where the broker stops,
   * waits up to 15 s for the next one and asks it the same.
   */
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
interface Opened {
  readonly channel: Channel;
  readonly proven: Promise<void>;
  readonly capabilities: readonly string[];
}

async function openChannel(options: OpenOptions): Promise<Opened> {
  const { socket, endpoint } = await connectTo(options.socket);
  const channel = new Channel(socket);
  return { channel, ...(await hello(channel, options.identity, endpoint, options.after)) };
}

/** Connects and says hello, without waiting for the broker's last word: the first request may follow. */
export async function openConnection(options: OpenOptions): Promise<Connection> {
  return new BrokerConnection(options, await openChannel(options));
}

/** Makes one handshake, waits until the broker has taken it, and hangs up. */
export async function knock(options: OpenOptions): Promise<void> {
  const { channel, proven } = await openChannel(options);
  await proven;
  channel.fail(closedHere());
}

/** Milliseconds to wait for the next broker: a desktop app takes over within a few seconds. */
const takeoverPatience = 15_000;

/** Milliseconds between two looks for it. */
const lookEvery = 100;

class BrokerConnection implements Connection {
  readonly #options: OpenOptions;
  #channel: Channel;
  #opening: Promise<void> | undefined;
  #closed = false;
  capabilities: readonly string[];

  constructor(options: OpenOptions, { channel, capabilities }: Opened) {
    this.#options = options;
    this.#channel = channel;
    this.capabilities = capabilities;
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
      if (this.#closed || !isPassing(error)) throw error;
      if (reasonOf(error) === 'broker_stopping') return this.#askNext(params, options, error);
      // Another caller may have reopened it in the meantime.
      if (this.#channel === channel) await this.#reopen();
      result = await this.request('token.get', params, options);
    }
    return tokenFrom(result);
  }

  /** Asks until a broker that goes on answers. Throws `stopping` where none came in time. */
  async #askNext(params: TokenGetParams, options: RequestOptions, stopping: unknown): Promise<TokenResult> {
    const { signal } = options;
    for (let deadline = Date.now() + takeoverPatience; Date.now() < deadline;) {
      await sleep(lookEvery, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
      const isNext = !this.isOpen;
      try {
        if (isNext) {
          await this.#reopen();
          options.onTakeover?.();
        }
        return tokenFrom(await this.request('token.get', params, options));
      } catch (error) {
        if (this.#closed || !isPassing(error)) throw error;
        // That one stops too, maybe after the person was asked for long: the wait begins anew.
        if (isNext && reasonOf(error) === 'broker_stopping') deadline = Date.now() + takeoverPatience;
      }
    }
    throw stopping;
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

  async #open(): Promise<void> {
    const { channel, capabilities } = await openChannel(this.#options);
    this.#channel = channel;
    this.capabilities = capabilities;
  }

  async #reopen(): Promise<void> {
    if (this.#closed) throw closedHere();
    this.#opening ??= this.#open();
    try {
      await this.#opening;
    } finally {
      this.#opening = undefined;
    }
    if (this.#closed) this.#channel.fail(closedHere());
  }
}

/** The broker went, or is about to go, and did nothing: another one may answer. */
function isPassing(error: unknown): boolean {
  return ['broker_unreachable', 'broker_stopping'].includes(reasonOf(error));
}

function tokenFrom(result: unknown): TokenResult {
  if (isTokenResult(result)) return result;
  throw malformed('token.get');
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
