/**
 * Connections that haven't proved a key yet: how many, and for how long.
 *
 * Invariant: at most 64 at once, each for at most five seconds. A process that holds many of the
 * places makes room for one that holds few, so that no single process can keep the others out.
 */
import { KeyturnError } from '../../base/errors.ts';
import { processOf } from '../peer/peer.ts';
import type { Session } from './session.ts';
import { handshakeTimeout } from '../wire/limits.ts';
import type { After } from '../wire/timer.ts';

/** Connections without a proof at once: a login that starts every program of a desktop stays far below. */
const maxUnproven = 64;

interface Place {
  readonly process: string;
  readonly cancelTimeout: () => void;
}

export class PendingConnections {
  readonly #after: After;
  /** Oldest first. */
  readonly #places = new Map<Session, Place>();

  constructor(after: After) {
    this.#after = after;
  }

  /** Gives the session a place and its five seconds; false where there is none. */
  admit(session: Session): boolean {
    const process = nameOf(session);
    if (this.#places.size >= maxUnproven && !this.#makeRoomFor(process)) return false;
    const cancelTimeout = this.#after(handshakeTimeout, () => {
      session.refuse(new KeyturnError('handshake_failed', 'the handshake took longer than five seconds'));
      session.destroy();
    });
    this.#places.set(session, { process, cancelTimeout });
    return true;
  }

  /** The session has proved itself, waits for its pairing, or is gone. */
  leave(session: Session): void {
    this.#places.get(session)?.cancelTimeout();
    this.#places.delete(session);
  }

  /** Ends the oldest connection of the process that holds most, if it holds more than the newcomer will. */
  #makeRoomFor(newcomer: string): boolean {
    const held = new Map<string, number>();
    for (const { process } of this.#places.values()) held.set(process, (held.get(process) ?? 0) + 1);
    const [greediest] = [...held].sort(([, a], [, b]) => b - a);
    if (!greediest || greediest[1] <= (held.get(newcomer) ?? 0) + 1) return false;
    const [oldest] = [...this.#places].find(([, { process }]) => process === greediest[0]) ?? [];
    if (!oldest) return false;
    this.leave(oldest);
    oldest.refuse(crowded());
    return true;
  }
}

/** Peers that can't be told apart share their places. */
function nameOf(session: Session): string {
  return processOf(session.peer) ?? 'unknown';
}

/** Why a connection got no place, or lost it. */
export function crowded(): KeyturnError {
  return new KeyturnError('rate_limited', 'too many connections are saying hello at once', {
    retryAfter: handshakeTimeout / 1000,
  });
}
