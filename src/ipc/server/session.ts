/**
 * One connection on the broker's side: hello, authenticate, then requests; or one pairing.
 *
 * Invariant: nothing is dispatched before the app has proved its key, and the broker never proves
 * towards a hello that names another socket. Every failure before that ends the connection.
 */
import type { KeyObject } from 'node:crypto';
import type { Socket } from 'node:net';
import { constantTimeEqual } from '../../base/constant-time.ts';
import { KeyturnError, reasonOf, type Reason } from '../../base/errors.ts';
import type { RateLimit } from './rate-limit.ts';
import { encodeFrame, FrameReader } from '../wire/framing.ts';
import {
  answerHello,
  handshakeRefusal,
  refuseOtherSocket,
  unknownApp,
  type ExpectedProof,
} from './broker-handshake.ts';
import type { NewPairing, PairingQueue } from './pairing.ts';
import type { PeerFacts } from '../peer/peer.ts';
import { requireAppName } from '../wire/app-name.ts';
import { isHelloParams, isPairParams, isAuthenticateParams, ownerId } from '../wire/handshake-messages.ts';
import { errorBody, type Message, type MessageId, parseMessage } from '../wire/json-rpc.ts';
import { frameLimit, handshakeFrameLimit } from '../wire/limits.ts';
import type { After } from '../wire/timer.ts';

/** An authenticated connection, as the broker's methods see it. */
export interface Caller {
  readonly appId: string;
  readonly role: 'owner' | 'app';
  readonly peer: PeerFacts;
  /** Reads the peer again; `unverified` once the connection is closed. */
  readonly peerNow: () => PeerFacts;
  /** Aborted when the connection closes. */
  readonly signal: AbortSignal;
  readonly isOpen: boolean;
  notify(method: string, params: unknown): void;
  onClose(callback: () => void): void;
}

/** What a session asks of its server. */
export interface SessionHost {
  /** The broker's id on the wire. */
  readonly homeId: string;
  /** Name of the socket that the server listens on. */
  readonly socketId: () => string;
  /** What the broker says of itself in the handshake. */
  readonly capabilities: readonly string[];
  readonly pairings: PairingQueue;
  /** K of the owner (`owner`) or of an app; undefined: unpaired. May throw `locked`. */
  readonly keyFor: (appId: string) => Promise<KeyObject | undefined>;
  /**
   * Called after each right proof of an app, before `authenticate` is answered. The first one, within 60 s of the pairing,
   * makes the key count; throw `unpaired` where it came too late.
   */
  readonly confirmPaired: (appId: string) => Promise<void>;
  /** The result, or a promise of it where something has to be waited for. Throws, or rejects with, the refusal. */
  readonly dispatch: (caller: Caller, method: string, params: unknown) => unknown;
  readonly readPeer: (socket: Socket) => PeerFacts;
  readonly after: After;
  /** Changes once all promises that can run have run: equal numbers mean that no I/O was waited for. */
  readonly turn: () => number;
  /** Counts an authenticated connection of this app, and gives its requests' allowance. Throws `rate_limited`. */
  readonly countConnection: (session: Session, appId: string) => RateLimit;
  /** The app of a handshake waits for the broker, until `onAnswered`. */
  readonly onBrokerBusy: (session: Session) => void;
  readonly onAnswered: (session: Session) => void;
  /** The connection no longer counts as unauthenticated: it is authenticated, or its pairing waits for the user. */
  readonly onAdmitted: (session: Session) => void;
  readonly onRefused: (session: Session, reason: Reason) => void;
  readonly onClosed: (session: Session) => void;
}

/** Requests in flight on one connection; the next ones wait here, then in the socket. */
const maxInFlight = 64;

/** Why every signal of a closed connection aborts. One for all: its stack costs more than the rest of a connection's end. */
const connectionClosed = new DOMException('the connection has closed', 'AbortError');

/** Bytes of answers that an app may leave unread before it is disconnected: several of the largest. */
const maxUnsent = 8 * frameLimit;

/** Milliseconds in which what was written may still leave: the other end only has to read it. */
const lingerTimeout = 1000;

type Phase =
  | { readonly at: 'hello' }
  | { readonly at: 'authenticate'; readonly expected: ExpectedProof }
  | { readonly at: 'pairing' }
  | { readonly at: 'ready'; readonly caller: Caller; readonly rateLimit: RateLimit }
  | { readonly at: 'closed' };

type Request = Message & { readonly kind: 'request' };

type Ready = Phase & { readonly at: 'ready' };

export class Session {
  readonly peer: PeerFacts;
  /** Known from the hello on, and not proven: a removal also ends a handshake under way. */
  claimedAppId: string | undefined;
  readonly #socket: Socket;
  readonly #host: SessionHost;
  readonly #reader = new FrameReader(handshakeFrameLimit);
  readonly #gone = new AbortController();
  #phase: Phase = { at: 'hello' };
  #busy = false;
  #inFlight = 0;
  #cancelWake: (() => void) | undefined;
  #cancelLinger: (() => void) | undefined;

  constructor(socket: Socket, peer: PeerFacts, host: SessionHost) {
    this.#socket = socket;
    this.#host = host;
    this.peer = peer;
    socket.on('data', (chunk) => {
      this.#reader.push(chunk);
      this.#advance();
    });
    socket.on('drain', () => this.#advance());
    // The reason doesn't matter: 'close' follows.
    socket.on('error', () => {});
    socket.on('close', () => this.#closed());
  }

  /** Until then nothing of the connection is read. */
  begin(): void {
    this.#socket.resume();
  }

  get caller(): Caller | undefined {
    return this.#phase.at === 'ready' ? this.#phase.caller : undefined;
  }

  /** Ends the connection once what was written has left, or after a second if it isn't read. */
  closeAfterWrites(): void {
    this.#socket.destroySoon();
    this.#destroyLater();
  }

  /**
   * As `closeAfterWrites`, if the broker stops: the socket takes in what still comes, until the app has closed too. An app
   * that writes to a socket that is gone loses what it has not read yet.
   */
  closeWithClient(): void {
    this.#socket.removeAllListeners('data').resume();
    this.#socket.end();
    this.#destroyLater();
  }

  #destroyLater(): void {
    this.#phase = { at: 'closed' };
    this.#cancelLinger ??= this.#host.after(lingerTimeout, () => this.#socket.destroy());
  }

  destroy(): void {
    this.#phase = { at: 'closed' };
    this.#socket.destroy();
  }

  /** Says why, then ends the connection. */
  refuseAndClose(error: unknown, id: MessageId | null = null): void {
    if (this.#phase.at === 'closed') return;
    this.#write({ jsonrpc: '2.0', id, error: errorBody(error) });
    this.#host.onRefused(this, reasonOf(error));
    // An app that has left earlier answers unread won't read this one either.
    if (this.#socket.writableNeedDrain) this.destroy();
    else this.closeAfterWrites();
  }

  #closed(): void {
    this.#phase = { at: 'closed' };
    this.#cancelWake?.();
    this.#cancelLinger?.();
    this.#gone.abort(connectionClosed);
    this.#host.onClosed(this);
  }

  /** Takes as many frames as may be in flight. Reading stops only when a whole frame's worth waits. */
  #advance(): void {
    if (this.#phase.at === 'pairing' && this.#reader.buffered > 0) {
      this.refuseAndClose(handshakeRefusal('an app that waits for its pairing may send nothing else'));
    }
    try {
      while (this.#mayTake()) {
        const frame = this.#reader.next();
        if (!frame) break;
        this.#take(frame);
      }
    } catch (error) {
      this.refuseAndClose(error);
    }
    this.#wakeWhenAllowed();
    // While fewer bytes wait the socket is read on, so that its end is noticed and its requests withdrawn.
    if (this.#mayTake() || this.#reader.buffered <= this.#reader.limit) this.#socket.resume();
    else this.#socket.pause();
  }

  #mayTake(): boolean {
    return (
      this.#phase.at !== 'closed' &&
      !this.#busy &&
      this.#inFlight < maxInFlight &&
      this.#rateLimitWait() === 0 &&
      !this.#socket.writableNeedDrain
    );
  }

  /** Milliseconds until the app may send its next request. */
  #rateLimitWait(): number {
    return this.#phase.at === 'ready' ? this.#phase.rateLimit.wait : 0;
  }

  /** An app that asks too fast isn't refused: its next requests wait here, then in its own socket. */
  #wakeWhenAllowed(): void {
    const ms = this.#rateLimitWait();
    if (ms === 0 || this.#cancelWake) return;
    this.#cancelWake = this.#host.after(ms, () => {
      this.#cancelWake = undefined;
      this.#advance();
    });
  }

  #take(frame: Buffer): void {
    const message = parseMessage(frame);
    if (message.kind === 'result' || message.kind === 'error') {
      throw new KeyturnError(
        'frame_invalid',
        'unexpected response: no request is outstanding on this connection',
      );
    }
    if (this.#phase.at === 'ready') {
      // A notification asks for nothing and gets no answer (JSON-RPC 2.0 §4.1).
      if (message.kind === 'request') this.#answer(this.#phase, message);
      return;
    }
    const step = this.#step(message, frame);
    this.#busy = true;
    this.#host.onBrokerBusy(this);
    step
      .catch((error: unknown) => this.refuseAndClose(error, message.kind === 'request' ? message.id : null))
      .finally(() => {
        this.#busy = false;
        this.#host.onAnswered(this);
        this.#advance();
      })
      .catch(() => this.destroy());
  }

  async #step(message: Message, frame: Buffer): Promise<void> {
    if (message.kind === 'request') {
      if (this.#phase.at === 'hello' && message.method === 'hello') {
        return this.#hello(message.id, message.params, frame);
      }
      if (this.#phase.at === 'hello' && message.method === 'pair')
        return this.#pair(message.id, message.params);
      if (this.#phase.at === 'authenticate' && message.method === 'authenticate') {
        return this.#authenticate(message.id, message.params, this.#phase.expected);
      }
    }
    throw handshakeRefusal('the handshake comes first: hello, then authenticate; or pair');
  }

  async #hello(id: MessageId, params: unknown, line: Buffer): Promise<void> {
    if (!isHelloParams(params)) throw handshakeRefusal('a hello lacks a field, or one is malformed');
    refuseOtherSocket(params, this.#host.socketId());
    this.claimedAppId = params.appId;
    const key = await this.#host.keyFor(params.appId);
    if (!key) throw unknownApp();
    const { answer, expected } = answerHello(this.#host, { appId: params.appId, key, line });
    if (this.#phase.at !== 'hello') return;
    this.#phase = { at: 'authenticate', expected };
    this.#respond(id, answer);
  }

  async #authenticate(id: MessageId, params: unknown, expected: ExpectedProof): Promise<void> {
    if (!isAuthenticateParams(params) || !constantTimeEqual(expected.proof, params.proof)) {
      throw handshakeRefusal('the proof is wrong', 'Pair the app again if its key file was replaced.');
    }
    if (expected.appId !== ownerId) await this.#host.confirmPaired(expected.appId);
    if (this.#phase.at !== 'authenticate') return;
    const rateLimit = this.#host.countConnection(this, expected.appId);
    this.#reader.limit = frameLimit;
    this.#phase = { at: 'ready', caller: this.#callerFor(expected.appId), rateLimit };
    this.#host.onAdmitted(this);
    this.#writeTogether();
    this.#respond(id, {});
  }

  /**
   * The first request often comes with the proof: if nothing has to be waited for, both answers leave in one write. Each
   * write wakes the app.
   */
  #writeTogether(): void {
    this.#socket.cork();
    // Runs after the promises that are settled already, and so after an answer from memory.
    process.nextTick(() => this.#socket.uncork());
  }

  async #pair(id: MessageId, params: unknown): Promise<void> {
    if (!isPairParams(params)) throw handshakeRefusal('a pairing lacks a field, or one is malformed');
    requireAppName(params.name);
    refuseOtherSocket(params, this.#host.socketId());
    const newApp = {
      name: params.name,
      ticket: params.ticket,
      peer: this.peer,
      peerNow: () => this.#peerNow(),
      isOpen: () => !this.#socket.destroyed,
    };
    const paired = await this.#host.pairings.ask(newApp, this.#gone.signal, (code) => {
      this.#phase = { at: 'pairing' };
      this.#host.onAdmitted(this);
      this.#write({ jsonrpc: '2.0', method: 'pair.code', params: { code } });
    });
    this.#respond(id, this.#identity(paired));
    this.closeAfterWrites();
  }

  #identity(paired: NewPairing): object {
    const key = paired.key.export().toString('base64url');
    return { appId: paired.appId, key, brokerId: this.#host.homeId };
  }

  #callerFor(appId: string): Caller {
    const { signal } = this.#gone;
    const socket = this.#socket;
    return {
      appId,
      role: appId === ownerId ? 'owner' : 'app',
      peer: this.peer,
      peerNow: () => this.#peerNow(),
      signal,
      get isOpen() {
        return !socket.destroyed && socket.writable;
      },
      notify: (method, params) => this.#write({ jsonrpc: '2.0', method, params }),
      onClose: (callback) => {
        if (signal.aborted) callback();
        else signal.addEventListener('abort', callback, { once: true });
      },
    };
  }

  #peerNow(): PeerFacts {
    return this.#socket.destroyed ? { kind: 'unverified' } : this.#host.readPeer(this.#socket);
  }

  /** A result that is there at once came from memory, as a cached token does, and costs nothing. */
  #answer({ caller, rateLimit }: Ready, { id, method, params }: Request): void {
    try {
      const result = this.#host.dispatch(caller, method, params);
      if (result instanceof Promise) this.#answerLater(result, id, rateLimit).catch(() => this.destroy());
      else this.#respond(id, result ?? {});
    } catch (error) {
      rateLimit.take();
      this.#refuseRequest(id, error);
    }
  }

  /** If the result was there before anything else could happen, nothing was waited for: that costs nothing either. */
  async #answerLater(answer: Promise<unknown>, id: MessageId, rateLimit: RateLimit): Promise<void> {
    const turn = this.#host.turn();
    this.#inFlight += 1;
    rateLimit.take();
    try {
      this.#respond(id, (await answer) ?? {});
      if (this.#host.turn() === turn) rateLimit.giveBack();
    } catch (error) {
      this.#refuseRequest(id, error);
    }
    this.#inFlight -= 1;
    this.#advance();
  }

  #refuseRequest(id: MessageId, error: unknown): void {
    this.#write({ jsonrpc: '2.0', id, error: errorBody(error) });
  }

  #respond(id: MessageId, result: unknown): void {
    this.#write({ jsonrpc: '2.0', id, result });
  }

  #write(message: object): void {
    if (this.#socket.destroyed || !this.#socket.writable) return;
    this.#socket.write(`${encodeFrame(message)}\n`);
    if (this.#socket.writableLength > maxUnsent) this.destroy();
  }
}
