/**
 * The broker's socket: accepts connections, keeps their limits, and hands authenticated requests to
 * an injected dispatch. Knows nothing of grants or permissions.
 *
 * Invariant: a peer of another user is gone before a byte of it is read; at most 64 connections are
 * unauthenticated, each for at most five seconds; nothing is locked out by id, which anyone can write.
 */
import type { KeyObject } from 'node:crypto';
import net, { type Socket } from 'node:net';

import { KeyturnError, reasonOf, type Reason } from '../errors.ts';
import { listenAt } from './endpoint.ts';
import { type Paired, PairingDesk, type PairRequest } from './pairing.ts';
import { loadPeerReader, type PeerFacts, type PeerReader } from './peer.ts';
import { type Caller, Session, type SessionHost } from './session.ts';
import { type After, after as realAfter, handshakeTimeout } from './wire.ts';

export type { Caller } from './session.ts';
export type { Paired, PairRequest } from './pairing.ts';

/** For the log: never holds a key, a proof or what a request said. */
export type ServerEvent =
  | { readonly event: 'authenticated'; readonly clientId: string; readonly peer: PeerFacts }
  | {
      readonly event: 'refused';
      readonly reason: Reason;
      readonly clientId?: string;
      readonly peer: PeerFacts;
    }
  | { readonly event: 'closed'; readonly clientId?: string; readonly peer: PeerFacts };

export interface ServerDeps {
  /** From `prepareSocket`; its folder is checked again. */
  readonly path: string;
  /** The broker's id on the wire. */
  readonly homeId: string;
  /** K of the owner (`owner`) or of a local client; undefined: unpaired. May throw `locked`. */
  readonly keyFor: (clientId: string) => Promise<KeyObject | undefined>;
  readonly dispatch: (caller: Caller, method: string, params: unknown) => Promise<unknown>;
  /** Resolves when the owner said yes; rejects with `pairing_denied`. See PairRequest. */
  readonly pair: (request: PairRequest) => Promise<Paired>;
  /**
   * Called at every hello that a local client proved, before it is answered. The first one, within
   * 60 s of the pairing, makes the key count; throw `unpaired` where it came too late.
   */
  readonly confirmPaired: (clientId: string) => Promise<void>;
  readonly log?: (event: ServerEvent) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly after?: After;
  /** Reads a connection's peer; the system's own unless given. */
  readonly readPeer?: PeerReader;
}

export interface BrokerServer {
  /** Name of the socket, e.g. `unix:66306:131`. */
  readonly endpoint: string;
  /** Authenticated connections. */
  callers(): Caller[];
  /** Ends every connection of one local client, handshakes under way included. */
  closeConnectionsOf(clientId: string): void;
  /** Stops listening and ends every connection; what was answered still leaves. */
  close(): Promise<void>;
}

/** Connections without a proof at once: a login that starts every program of a desk stays far below. */
const mostUnauthenticated = 64;

/** Milliseconds in which an answer already written may still leave when the broker stops. */
const farewell = 1000;

/** Throws `broker_running` or `socket_unsafe`. */
export async function startServer(deps: ServerDeps): Promise<BrokerServer> {
  const readPeer = deps.readPeer ?? (await loadPeerReader());
  // Paused: nothing is read before the peer was looked at.
  const server = net.createServer({ pauseOnConnect: true });
  const endpoint = await listenAt(server, deps.path);
  const reception = new Reception(deps, readPeer, endpoint);
  // Connections can't have come in yet: 'connection' is emitted from the event loop, later than this.
  server.on('connection', (socket) => reception.receive(socket));
  // Accepting can fail for want of descriptors: that caller is lost, the broker isn't.
  server.on('error', () =>
    deps.log?.({ event: 'refused', reason: 'internal', peer: { kind: 'unverified' } }),
  );
  return {
    endpoint,
    callers: () => reception.callers(),
    closeConnectionsOf: (clientId) => reception.closeConnectionsOf(clientId),
    close: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
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
  readonly #after: After;
  readonly #sessions = new Set<Session>();
  /** Unauthenticated sessions, each with what cancels its time limit. */
  readonly #strangers = new Map<Session, () => void>();

  constructor(deps: ServerDeps, readPeer: PeerReader, endpoint: string) {
    this.#deps = deps;
    this.#readPeer = readPeer;
    this.#after = deps.after ?? realAfter;
    this.#host = {
      homeId: deps.homeId,
      endpoint,
      desk: new PairingDesk({ pair: deps.pair, now: deps.now, after: this.#after }),
      keyFor: deps.keyFor,
      confirmPaired: deps.confirmPaired,
      dispatch: deps.dispatch,
      readPeer,
      onAdmitted: (session) => this.#admitted(session),
      onRefused: (session, reason) => this.#deps.log?.({ event: 'refused', reason, ...whoIs(session) }),
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
    this.#sessions.add(session);
    if (this.#strangers.size >= mostUnauthenticated) {
      session.refuse(
        new KeyturnError('rate_limited', 'too many connections are saying hello at once', {
          retryAfter: handshakeTimeout / 1000,
        }),
      );
      return;
    }
    this.#strangers.set(
      session,
      this.#after(handshakeTimeout, () => {
        session.refuse(new KeyturnError('handshake_failed', 'the handshake took longer than five seconds'));
        session.destroy();
      }),
    );
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

  closeConnectionsOf(clientId: string): void {
    for (const session of this.#sessions) if (session.clientId === clientId) session.destroy();
  }

  close(): void {
    for (const session of this.#sessions) {
      session.finish();
      this.#after(farewell, () => session.destroy());
    }
  }

  #admitted(session: Session): void {
    this.#forgetStranger(session);
    const { caller } = session;
    if (!caller) return;
    this.#deps.log?.({ event: 'authenticated', clientId: caller.clientId, peer: session.peer });
  }

  #closed(session: Session): void {
    this.#forgetStranger(session);
    this.#sessions.delete(session);
    this.#deps.log?.({ event: 'closed', ...whoIs(session) });
  }

  #forgetStranger(session: Session): void {
    this.#strangers.get(session)?.();
    this.#strangers.delete(session);
  }
}

function whoIs(session: Session): { clientId?: string; peer: PeerFacts } {
  const { clientId, peer } = session;
  return clientId === undefined ? { peer } : { clientId, peer };
}
