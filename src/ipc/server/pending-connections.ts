/**
 * Connections that haven't proved a key yet: how many, and for how long.
 *
 * Invariant: at most 64 at once. Each client has `handshakeTimeout` for its own part; while the broker works on what
 * the client sent, that time stands still, and `brokerTimeout` bounds the work. A process that holds many of the
 * places makes room for one that holds few, so that no single process can keep the others out.
 */
import { KeyturnError } from '../../base/errors.ts';
import { processOf } from '../peer/peer.ts';
import type { Session } from './session.ts';
import { brokerTimeout, handshakeTimeout } from '../wire/limits.ts';
import type { After } from '../wire/timer.ts';

/** Connections without a proof at once: a login that starts every program of a desktop stays far below. */
const maxUnproven = 64;

interface Place {
  readonly process: string;
  /** Milliseconds that the client has left, as of `since`. */
  left: number;
  since: number;
  cancelTimeout: () => void;
}

export class PendingConnections {
  readonly #after: After;
  readonly #now: () => number;
  /** Oldest first. */
  readonly #places = new Map<Session, Place>();

  /** `now`: milliseconds. */
  constructor(after: After, now: () => number) {
    this.#after = after;
    this.#now = now;
  }

  /** Gives the session a place and its time; false where there is none. */
  admit(session: Session): boolean {
    const process = nameOf(session);
    if (this.#places.size >= maxUnproven && !this.#makeRoomFor(process)) return false;
    const place = { process, left: handshakeTimeout, since: 0, cancelTimeout: () => {} };
    this.#places.set(session, place);
    this.#waitForClient(session, place);
    return true;
  }

  /** The client waits for the broker: until `answered`, none of the client's time passes. */
  working(session: Session): void {
    const place = this.#places.get(session);
    if (!place) return;
    place.cancelTimeout();
    // A clock that was set back gives no more time than there was.
    place.left -= Math.max(0, this.#now() - place.since);
    place.cancelTimeout = this.#after(brokerTimeout, () => end(session, vaultTooSlow()));
  }

  answered(session: Session): void {
    const place = this.#places.get(session);
    if (!place) return;
    place.cancelTimeout();
    this.#waitForClient(session, place);
  }

  #waitForClient(session: Session, place: Place): void {
    place.since = this.#now();
    place.cancelTimeout = this.#after(place.left, () => end(session, clientTooSlow()));
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

function end(session: Session, error: KeyturnError): void {
  session.refuse(error);
  session.destroy();
}

function clientTooSlow(): KeyturnError {
  const seconds = handshakeTimeout / 1000;
  return new KeyturnError(
    'handshake_failed',
    `the program took longer than ${seconds} seconds for its part of the handshake`,
  );
}

/** Not the client's fault, so it doesn't count as a failed handshake of its process. */
function vaultTooSlow(): KeyturnError {
  const seconds = brokerTimeout / 1000;
  return new KeyturnError('vault_unavailable', `the vault did not answer within ${seconds} seconds`, {
    hint: 'The keychain may wait for you: answer it, or run keyturn unlock.',
  });
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
