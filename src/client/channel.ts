/**
 * One socket to the broker: requests and their answers.
 *
 * Invariant: when the socket ends, every open request is refused; an answer to no request ends the socket.
 * Until `trust` is called, nothing that the other end says is repeated: it may be a squatter.
 */
import type { Socket } from 'node:net';
import { KeyturnError, Unreachable } from '../base/errors.ts';
import { encodeFrame, FrameReader } from '../ipc/wire/framing.ts';
import {
  type ErrorBody,
  errorFrom,
  type Message,
  type MessageId,
  parseMessage,
} from '../ipc/wire/json-rpc.ts';
import { frameLimit, handshakeFrameLimit } from '../ipc/wire/limits.ts';

interface PendingCall {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export type NotificationListener = (method: string, params: unknown) => void;

export class Channel {
  readonly #socket: Socket;
  readonly #reader = new FrameReader(handshakeFrameLimit);
  readonly #waiting = new Map<MessageId, PendingCall>();
  readonly #listeners = new Set<NotificationListener>();
  #lastId = 0;
  #trusted = false;
  #ended: (() => Error) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#read(chunk));
    // The reason doesn't matter: 'close' follows.
    socket.on('error', () => {});
    socket.on('close', () => this.end(gone));
  }

  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  /** The broker has proved itself: longer frames are taken, and its words repeated. */
  trust(): void {
    this.#trusted = true;
    this.#reader.limit = frameLimit;
  }

  /** What is sent before the event loop goes round leaves in one write. */
  sendTogether(): void {
    this.#socket.cork();
    setImmediate(() => this.#socket.uncork());
  }

  /** Sends a request. `line` is its frame as sent, for the transcript. Throws `frame_invalid` if too long. */
  start(method: string, params: object): { readonly line: string; readonly answer: Promise<unknown> } {
    if (this.#ended) throw this.#ended();
    const id = (this.#lastId += 1);
    const line = encodeFrame({ jsonrpc: '2.0', id, method, params });
    const { promise: answer, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    this.#socket.write(`${line}\n`);
    this.#keepAwake();
    return { line, answer };
  }

  /** Tells a listener of every notification, until the function it returns is called. */
  listen(listener: NotificationListener): () => void {
    this.#listeners.add(listener);
    this.#keepAwake();
    return () => {
      this.#listeners.delete(listener);
      this.#keepAwake();
    };
  }

  /** Ends the socket; open requests and later ones are refused with `error`. */
  fail(error: Error): void {
    this.end(() => error);
  }

  /** As `fail`; `refusal` makes the error where a request gets it. Most connections end without one. */
  end(refusal: () => Error): void {
    if (this.#ended) return;
    this.#ended = refusal;
    this.#socket.destroy();
    for (const { reject } of this.#waiting.values()) reject(refusal());
    this.#waiting.clear();
    this.#listeners.clear();
  }

  /** A connection that nobody waits on must not keep a program from ending. */
  #keepAwake(): void {
    if (this.#waiting.size > 0 || this.#listeners.size > 0) this.#socket.ref();
    else this.#socket.unref();
  }

  #read(chunk: Buffer): void {
    this.#reader.push(chunk);
    try {
      for (let frame = this.#next(); frame; frame = this.#next()) this.#take(parseMessage(frame));
    } catch (error) {
      // A listener's own error ends the connection too.
      this.fail(error instanceof Error ? error : nonsense());
    }
  }

  #next(): Buffer | undefined {
    return this.#ended ? undefined : this.#reader.next();
  }

  #take(message: Message): void {
    if (message.kind === 'notification') {
      for (const listener of this.#listeners) listener(message.method, message.params);
      return;
    }
    if (message.kind === 'request') throw nonsense();
    if (message.id === null) {
      // The broker could not read which request it refuses: none will be answered.
      this.fail(message.kind === 'error' ? this.#refusal(message.error) : nonsense());
      return;
    }
    const waiting = this.#waiting.get(message.id);
    if (!waiting) throw nonsense();
    this.#waiting.delete(message.id);
    if (message.kind === 'error') waiting.reject(this.#refusal(message.error));
    else waiting.resolve(message.result);
    this.#keepAwake();
  }

  #refusal(body: ErrorBody): KeyturnError {
    const error = errorFrom(body);
    if (this.#trusted) return error;
    const { reason, retryAfter } = error;
    return new KeyturnError(reason, `the broker refused the connection: ${reason}`, {
      hint: unprovenHints[reason] ?? 'The log of the broker says more.',
      retryAfter,
    });
  }
}

/** Hints for refusals of a program that hasn't proved to be our broker: our words, not its. */
const unprovenHints: Readonly<Record<string, string>> = {
  unpaired: 'The broker does not know this key. The key was kept; pair the app again.',
  locked:
    'Run `keyturn unlock` (`keyturn broker restart` if the setting vaultKey opens the vault), then try again.',
  vault_unavailable:
    'keyturn status says why its vault can’t be used. If your terminal sets KEYTURN_HOME or KEYTURN_SOCKET, set it for this app too: else it uses another broker.',
  rate_limited: 'Try again later.',
  conflict:
    'An app of this name is paired already. If its app key is lost, run on the machine where the broker runs: keyturn app remove NAME',
  broker_stopping: 'The broker is being stopped or replaced. Ask again in a moment.',
  version_unsupported:
    'Broker and app speak different versions of the wire: update the older; keyturn broker restart starts what is installed.',
  pairing_denied: 'Nobody allowed the pairing. Ask again when you are at the machine.',
};

function gone(): Unreachable {
  return new Unreachable('broker_unreachable', 'the broker closed the connection', {
    hint: 'It may have been stopped, or this app removed from its list.',
  });
}

function nonsense(): KeyturnError {
  return new KeyturnError(
    'frame_invalid',
    'the broker sent neither an answer to a request nor a notification',
  );
}
