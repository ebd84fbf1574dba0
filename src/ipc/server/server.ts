/**
 * The broker's socket: accepts connections, keeps their limits, and hands authenticated requests to
 * an injected dispatch. Knows nothing of sign-ins or permissions.
 *
 * Invariant: a peer of another user is gone before a byte of it is read. An app that fails is slowed
 * by what the kernel says of it, or by an id that it proved, never by a claimed id, which anyone can write.
 */
import type { KeyObject } from 'node:crypto';
import type { Socket } from 'node:net';

import { KeyturnError, reasonOf, type Reason } from '../../base/errors.ts';
import { type RateLimit, RateLimits } from './rate-limit.ts';
import { Listener } from './listener.ts';
import { type NewPairing, PairingQueue, type PairRequest } from './pairing.ts';
import { loadPeerReader, type PeerFacts, type PeerReader, processOf } from '../peer/peer.ts';
import { type Caller, Session, type SessionHost } from './session.ts';
import { HandshakeQueue } from './handshake-queue.ts';
import { handshakeTimeout } from '../wire/limits.ts';
import { type After, after as realAfter } from '../wire/timer.ts';

export type { Caller } from './session.ts';
export type { NewPairing, PairRequest } from './pairing.ts';

/** For the log: never holds a key, a proof or what a request said. */
export type ServerEvent =
  | { readonly event: 'authenticated'; readonly appId: string; readonly peer: PeerFacts }
  | {
      readonly event: 'refused';
      readonly reason: Reason;
      readonly appId?: string;
      readonly peer: PeerFacts;
    }
  | { readonly event: 'closed'; readonly appId?: string; readonly peer: PeerFacts };

/** Handshakes at once, or failed handshakes of one process. */
export type SocketLimit = 'handshakes' | 'failed handshakes';

export interface ServerDeps {
  /** From `prepareSocket`; its folder is checked again. */
  readonly path: string;
  /** A descriptor that listens there already: see passed-socket.ts. */
  readonly passed?: number | undefined;
  /** How both ends name this socket; by the file that it is unless given. */
  readonly socketId?: string;
  /** The broker's id on the wire. */
  readonly homeId: string;
  /** What the broker says of itself in the handshake: see docs/reference/wire-protocol.md. Nothing unless given. */
  readonly capabilities?: readonly string[];
  /** K of the owner (`owner`) or of an app; undefined: unpaired. May throw `locked`. */
  readonly keyFor: (appId: string) => Promise<KeyObject | undefined>;
  /** The result, or a promise of it where something has to be waited for. Throws, or rejects with, the refusal. */
  readonly dispatch: (caller: Caller, method: string, params: unknown) => unknown;
  /** See PairingDeps. */
  readonly pair: (request: PairRequest) => Promise<() => Promise<NewPairing>>;
  /**
   * Called at every hello that an app proved, before it is answered. The first one, within
   * 60 s of the pairing, makes the key count; throw `unpaired` where it came too late.
   */
  readonly confirmPaired: (appId: string) => Promise<void>;
  readonly log?: (event: ServerEvent) => void;
  /** A connection was turned away at a limit. A flood of connections calls it each time. */
  readonly turnedAway?: (limit: SocketLimit) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly after?: After;
  /** Reads a connection's peer; the system's own unless given. */
  readonly readPeer?: PeerReader;
}

export interface BrokerServer {
  /** Name of the socket, e.g. `unix:66306:131`. */
  readonly socketId: string;
  /** Where it listens. */
  readonly path: string;
  /** The socket's file is gone, or another one is in its place: no program can connect. */
  isLost(): boolean;
  /** Listens at this path instead of the lost one; connections stay. Throws `broker_running` or `socket_unsafe`. */
  listenAgain(path: string): Promise<void>;
  /** Authenticated connections. */
  callers(): Caller[];
  /** Ends every connection of one app, handshakes under way included. */
  closeConnectionsOf(appId: string): void;
  /** Stops listening and ends every connection; what was answered still leaves. */
  close(): Promise<void>;
}

/**
 * Failed handshakes of one process: a program that finds fifty broken keys at once still says so, and
 * one that goes on with a broken key tries once a second, which neither loads the broker nor fills
 * its log. One that succeeds is not counted: it is bounded by its work.
 */
const failedHandshakeRate = { burst: 50, perSecond: 1 };

/**
 * Requests of one app that the broker had to wait for, or that failed: ten times what a busy
 * agent asks, and a tenth of what would keep the broker busy.
 */
const requestRate = { burst: 1000, perSecond: 1000 };

/** Connections of one app: one a window or worker; a tenth of the descriptors that Linux gives a process. */
const maxConnectionsPerApp = 1024;

/** Failures of a handshake that aren't the app's own. */
const blameless: readonly Reason[] = [
  'file_unreadable',
  'internal',
  'locked',
  'rate_limited',
  'vault_unavailable',
  'vault_unreadable',
];

/** Throws `broker_running` or `socket_unsafe`. */
export async function startServer(deps: ServerDeps): Promise<BrokerServer> {
  const { path, passed, after = realAfter } = deps;
  const readPeer = deps.readPeer ?? (await loadPeerReader());
  const reception = new Reception(deps, readPeer, () => deps.socketId ?? listener.socketId);
  const listener = await Listener.open({
    path,
    passed,
    readPeer,
    after,
    receive: (socket) => reception.receive(socket),
    failed: () => deps.log?.({ event: 'refused', reason: 'internal', peer: { kind: 'unverified' } }),
  });
  return {
    get socketId() {
      return deps.socketId ?? listener.socketId;
    },
    get path() {
      return listener.path;
    },
    isLost: () => listener.isLost(),
    listenAgain: async (next) => listener.listenAgain(next),
    callers: () => reception.callers(),
    closeConnectionsOf: (appId) => reception.closeConnectionsOf(appId),
    close: async () => {
      const closed = listener.close();
      reception.close();
      await closed;
    },
  };
}

/** Every connection of one server. */
class Reception {
  readonly #deps: ServerDeps;
  readonly #readPeer: PeerReader;
  readonly #host: SessionHost;
  readonly #sessions = new Set<Session>();
  readonly #queue: HandshakeQueue;
  readonly #handshakes: RateLimits;
  readonly #requests: RateLimits;
  /** Proven sessions, and how many each app has. */
  readonly #seated = new Map<Session, string>();
  readonly #seats = new Map<string, number>();
  /** Sessions whose handshake counts as failed if they end now. */
  readonly #unproven = new Set<Session>();

  constructor(deps: ServerDeps, readPeer: PeerReader, socketId: () => string) {
    this.#deps = deps;
    this.#readPeer = readPeer;
    const after = deps.after ?? realAfter;
    this.#queue = new HandshakeQueue(after, deps.now);
    this.#handshakes = new RateLimits(failedHandshakeRate, deps.now);
    this.#requests = new RateLimits(requestRate, deps.now);
    this.#host = {
      homeId: deps.homeId,
      get socketId() {
        return socketId();
      },
      capabilities: deps.capabilities ?? [],
      pairings: new PairingQueue({ pair: deps.pair, now: deps.now, after }),
      keyFor: deps.keyFor,
      confirmPaired: deps.confirmPaired,
      dispatch: deps.dispatch,
      readPeer,
      after,
      turn: turnCounter(),
      countConnection: (session, appId) => this.#countConnection(session, appId),
      onBrokerBusy: (session) => this.#queue.working(session),
      onAnswered: (session) => this.#queue.answered(session),
      onAdmitted: (session) => this.#admitted(session),
      onRefused: (session, reason) => this.#refused(session, reason),
      onClosed: (session) => this.#closed(session),
    };
  }

  receive(socket: Socket): void {
    const peer = this.#ownPeer(socket);
    if (!peer) {
      socket.destroy();
      return;
    }
    const session = new Session(socket, peer, this.#host);
    const wait = this.#failures(session)?.wait ?? 0;
    if (wait > 0) {
      this.#turnAway(session, 'failed handshakes', tooManyFailures(wait));
      return;
    }
    if (!this.#queue.admit(session)) {
      this.#turnAway(session, 'handshakes', tooManyHandshakes());
      return;
    }
    this.#sessions.add(session);
    this.#unproven.add(session);
  }

  #turnAway(session: Session, limit: SocketLimit, error: KeyturnError): void {
    this.#deps.turnedAway?.(limit);
    session.refuseAndClose(error);
  }

  /** Where the kernel doesn't name the process, nobody is slowed: it would fall on all. */
  #failures({ peer }: Session): RateLimit | undefined {
    const process = processOf(peer);
    return process === undefined ? undefined : this.#handshakes.of(process);
  }

  /** The peer, unless it is another user or can't be read. */
  #ownPeer(socket: Socket): PeerFacts | undefined {
    try {
      const peer = this.#readPeer(socket);
      if (peer.kind === 'unverified' || peer.uid === process.getuid?.()) return peer;
      this.#deps.log?.({ event: 'refused', reason: 'not_permitted', peer });
    } catch (error) {
      this.#deps.log?.({ event: 'refused', reason: reasonOf(error), peer: { kind: 'unverified' } });
    }
    return undefined;
  }

  callers(): Caller[] {
    return [...this.#sessions].flatMap((session) => session.caller ?? []);
  }

  closeConnectionsOf(appId: string): void {
    for (const session of this.#sessions) if (session.claimedAppId === appId) session.destroy();
  }

  close(): void {
    this.#host.pairings.end();
    for (const session of this.#sessions) session.closeWithClient();
  }

  #countConnection(session: Session, appId: string): RateLimit {
    const taken = this.#seats.get(appId) ?? 0;
    if (taken >= maxConnectionsPerApp) throw tooManyConnections();
    this.#seats.set(appId, taken + 1);
    this.#seated.set(session, appId);
    return this.#requests.of(appId);
  }

  #admitted(session: Session): void {
    this.#queue.leave(session);
    this.#unproven.delete(session);
    const { caller } = session;
    if (!caller) return;
    this.#deps.log?.({ event: 'authenticated', appId: caller.appId, peer: session.peer });
  }

  #refused(session: Session, reason: Reason): void {
    if (blameless.includes(reason)) this.#unproven.delete(session);
    // Connections that got no place are not logged one by one: that would be a flood as well.
    if (this.#sessions.has(session)) this.#deps.log?.({ event: 'refused', reason, ...whoIs(session) });
  }

  #closed(session: Session): void {
    this.#queue.leave(session);
    this.#connectionGone(session);
    if (this.#unproven.delete(session)) this.#failures(session)?.take();
    if (this.#sessions.delete(session)) this.#deps.log?.({ event: 'closed', ...whoIs(session) });
  }

  #connectionGone(session: Session): void {
    const appId = this.#seated.get(session);
    if (appId === undefined) return;
    this.#seated.delete(session);
    const left = (this.#seats.get(appId) ?? 1) - 1;
    if (left > 0) this.#seats.set(appId, left);
    else this.#seats.delete(appId);
  }
}

/** A number that changes once all promises that wait for no I/O have run. */
function turnCounter(): () => number {
  let turn = 0;
  let isCurrent = false;
  const end = (): void => {
    turn += 1;
    isCurrent = false;
  };
  return () => {
    if (isCurrent) return turn;
    isCurrent = true;
    // A tick that a promise asks for comes once no promise can run any more.
    queueMicrotask(() => process.nextTick(end));
    return turn;
  };
}

function tooManyFailures(wait: number): KeyturnError {
  return new KeyturnError('rate_limited', 'too many handshakes of this app have failed', {
    rule: 'Keyturn wire contract: rate limits count handshakes',
    retryAfter: Math.ceil(wait / 1000),
    hint: 'Its key may be out of date: pair it again. Other apps are not affected.',
  });
}

function tooManyHandshakes(): KeyturnError {
  return new KeyturnError('rate_limited', 'too many connections are saying hello at once', {
    retryAfter: handshakeTimeout / 1000,
  });
}

function tooManyConnections(): KeyturnError {
  return new KeyturnError('rate_limited', `one app may have ${maxConnectionsPerApp} connections open`, {
    retryAfter: 1,
    hint: 'Keep one connection and send its requests over it.',
  });
}

function whoIs(session: Session): { appId?: string; peer: PeerFacts } {
  const { claimedAppId: appId, peer } = session;
  return appId === undefined ? { peer } : { appId, peer };
}
