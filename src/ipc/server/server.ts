/**
 * The broker's socket: accepts connections, keeps their limits, and hands authenticated requests to
 * an injected dispatch. Knows nothing of sign-ins or permissions.
 *
 * Invariant: a peer of another user is gone before a byte of it is read. An app that fails is slowed
 * by what the kernel says of it, or by an id that it proved, never by a claimed id, which anyone can write.
 */
import type { Socket } from 'node:net';
import { KeyturnError, reasonOf, type Reason } from '../../base/errors.ts';
import { type RateLimit, RateLimits } from './rate-limit.ts';
import { Listener, type ListenerDeps } from './listener.ts';
import { type PairingDeps, PairingQueue } from './pairing.ts';
import { loadPeerReader, type PeerFacts, type PeerReader, processOf } from '../peer/peer.ts';
import { type Caller, Session, type SessionHost } from './session.ts';
import { HandshakeQueue } from './handshake-queue.ts';
import { handshakeTimeout } from '../wire/limits.ts';
import { type After, after as realAfter } from '../wire/timer.ts';

export type { Caller } from './session.ts';
export type { NewPairing, PairRequest } from './pairing.ts';

/** For the log: never holds a key, a proof or what a request said. */
export type ServerEvent = { readonly peer: PeerFacts; readonly appId?: string } & (
  | { readonly event: 'authenticated' | 'closed' }
  | { readonly event: 'refused'; readonly reason: Reason }
);

/** Handshakes at once, or failed handshakes of one process. */
export type SocketLimit = 'handshakes' | 'failed handshakes';

export interface ServerDeps
  extends
    Pick<ListenerDeps, 'path' | 'passed'>,
    Pick<PairingDeps, 'pair' | 'now'>,
    Pick<SessionHost, 'homeId' | 'keyFor' | 'confirmPaired' | 'dispatch'> {
  /** How both ends name this socket; by the file that it is unless given. */
  readonly socketId?: string;
  /** What the broker says of itself in the handshake: see docs/reference/wire-protocol.md. Nothing unless given. */
  readonly capabilities?: readonly string[];
  readonly log?: (event: ServerEvent) => void;
  /** A connection was turned away at a limit. A flood of connections calls it each time. */
  readonly turnedAway?: (limit: SocketLimit) => void;
  readonly after?: After;
  /** Reads a connection's peer; the system's own unless given. */
  readonly readPeer?: PeerReader;
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

/** Connections of one app: one for each of its windows or workers. */
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
  const server = new SocketServer(deps, deps.readPeer ?? (await loadPeerReader()));
  await server.open();
  return server;
}

export type BrokerServer = Omit<SocketServer, 'open'>;

/** One socket, with every connection to it. */
class SocketServer {
  readonly #deps: ServerDeps;
  readonly #readPeer: PeerReader;
  readonly #listener: Listener;
  readonly #host: SessionHost;
  readonly #sessions = new Set<Session>();
  readonly #queue: HandshakeQueue;
  readonly #handshakes: RateLimits;
  readonly #requests: RateLimits;
  /** Sessions that proved a key, and whose. */
  readonly #seated = new Map<Session, string>();
  /** Sessions whose handshake counts as failed if they end now. */
  readonly #unproven = new Set<Session>();

  constructor(deps: ServerDeps, readPeer: PeerReader) {
    this.#deps = deps;
    this.#readPeer = readPeer;
    const { now, after = realAfter, capabilities = [] } = deps;
    this.#listener = new Listener({
      ...deps,
      readPeer,
      after,
      receive: (socket) => this.#receive(socket),
      failed: () => deps.log?.({ event: 'refused', reason: 'internal', peer: { kind: 'unverified' } }),
    });
    this.#queue = new HandshakeQueue(after, now);
    this.#handshakes = new RateLimits(failedHandshakeRate, now);
    this.#requests = new RateLimits(requestRate, now);
    this.#host = {
      ...deps,
      socketId: () => this.socketId,
      capabilities,
      pairings: new PairingQueue({ pair: deps.pair, now, after }),
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

  /** Throws as `startServer`. */
  async open(): Promise<void> {
    await this.#listener.open();
  }

  /** Name of the socket, e.g. `unix:66306:131`. */
  get socketId(): string {
    return this.#deps.socketId ?? this.#listener.socketId;
  }

  get path(): string {
    return this.#listener.path;
  }

  /** The socket's file is gone, or another one is in its place: no program can connect. */
  isLost(): boolean {
    return this.#listener.isLost();
  }

  /** Listens at this path instead of the lost one; connections stay. Throws `broker_running` or `socket_unsafe`. */
  async listenAgain(path: string): Promise<void> {
    await this.#listener.listenAt(path);
  }

  /** Authenticated connections. */
  callers(): Caller[] {
    return [...this.#sessions].flatMap((session) => session.caller ?? []);
  }

  /** Ends every connection of one app, handshakes under way included. */
  closeConnectionsOf(appId: string): void {
    for (const session of this.#sessions) if (session.claimedAppId === appId) session.destroy();
  }

  /** Stops listening and ends every connection; what was answered still leaves. */
  async close(): Promise<void> {
    const closed = this.#listener.close();
    this.#host.pairings.end();
    for (const session of this.#sessions) session.closeWithClient();
    await closed;
  }

  #receive(socket: Socket): void {
    const peer = this.#ownPeer(socket);
    if (!peer) return void socket.destroy();
    const session = new Session(socket, peer, this.#host);
    const wait = this.#failures(session)?.wait ?? 0;
    if (wait > 0) return this.#turnAway(session, 'failed handshakes', tooManyFailures(wait));
    if (!this.#queue.admit(session)) return this.#turnAway(session, 'handshakes', tooManyHandshakes());
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

  #countConnection(session: Session, appId: string): RateLimit {
    const taken = [...this.#seated.values()].filter((seated) => seated === appId).length;
    if (taken >= maxConnectionsPerApp)
      throw new KeyturnError('rate_limited', `one app may have ${maxConnectionsPerApp} connections open`, {
        retryAfter: 1,
        hint: 'Keep one connection and send its requests over it.',
      });
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
    this.#seated.delete(session);
    if (this.#unproven.delete(session)) this.#failures(session)?.take();
    if (this.#sessions.delete(session)) this.#deps.log?.({ event: 'closed', ...whoIs(session) });
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
  return new KeyturnError('rate_limited', 'too many handshakes of this process have failed', {
    rule: 'Keyturn wire protocol: rate limits count failed handshakes',
    retryAfter: Math.ceil(wait / 1000),
    hint: 'Its key may be out of date: pair it again. Other apps are not affected.',
  });
}

function tooManyHandshakes(): KeyturnError {
  return new KeyturnError('rate_limited', 'too many connections are saying hello at once', {
    retryAfter: handshakeTimeout / 1000,
  });
}

function whoIs(session: Session): { appId?: string; peer: PeerFacts } {
  const { claimedAppId: appId, peer } = session;
  return appId === undefined ? { peer } : { appId, peer };
}
