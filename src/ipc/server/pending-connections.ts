/**
 * Connections that haven't proved a key yet: how many, and for how long.
 *
 * Invariant: at most 64 are read at once; the next ones wait, unread, until a place is free. Each client has
 * `handshakeTimeout` for its own part; while the broker works on what the client sent, that time stands still, and
 * `brokerTimeout` bounds the work. A process that holds many of the places makes room for one that holds few, so that
 * no single process can keep the others out.
 */
import { KeyturnError } from '../../base/errors.ts';
import { processOf } from '../peer/peer.ts';
import type { Session } from './session.ts';
import { brokerTimeout, handshakeTimeout } from '../wire/limits.ts';
import type { After } from '../wire/timer.ts';

/** Connections without a proof that are read at once. */
const maxUnproven = 64;

/** Connections that wait for a place: several crowds of programs that start together. Each takes a descriptor. */
const maxWaiting = 1024;

/** Milliseconds that a connection has its place for sure: many times what a handshake takes. */
const undisturbed = 500;

interface Place {
  readonly process: string;
  /** Milliseconds since 1970. */
  readonly taken: number;
  /** Milliseconds that the client has left, as of `since`. */
  left: number;
  since: number;
  cancelTimeout: () => void;
}

interface Deps {
  readonly after: After;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A connection got no place, or had to give it up. */
  readonly onTurnedAway: (session: Session) => void;
}

export class PendingConnections {
  readonly #deps: Deps;
  /** Oldest first. */
  readonly #places = new Map<Session, Place>();
  /** Those who wait, oldest first, with the name of their process. */
  readonly #line = new Map<Session, string>();
  #cancelLook: (() => void) | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Begins the session once there is a place for it; false where it was turned away. */
  admit(session: Session): boolean {
    const process = nameOf(session);
    if (this.#line.size === 0 && this.#places.size < maxUnproven) {
      this.#seat(session, process);
      return true;
    }
    if (this.#line.size >= maxWaiting && !this.#shortenLineFor(process)) {
      this.#turnAway(session);
      return false;
    }
    this.#line.set(session, process);
    this.#serveLine();
    return true;
  }

  #serveLine(): void {
    this.#cancelLook?.();
    this.#cancelLook = undefined;
    while (this.#line.size > 0) {
      const held = countsOf([...this.#places.values()].map((place) => place.process));
      const [session, process] = this.#first(held);
      if (this.#places.size >= maxUnproven && !this.#makeRoomFor(process, held)) return;
      this.#line.delete(session);
      this.#seat(session, process);
    }
  }

  /** Of those who wait, the oldest whose process holds the fewest places. */
  #first(held: ReadonlyMap<string, number>): readonly [Session, string] {
    return [...this.#line].reduce((best, next) =>
      (held.get(next[1]) ?? 0) < (held.get(best[1]) ?? 0) ? next : best,
    );
  }

  #seat(session: Session, process: string): void {
    const place = {
      process,
      taken: this.#deps.now(),
      left: handshakeTimeout,
      since: 0,
      cancelTimeout: () => {},
    };
    this.#places.set(session, place);
    this.#waitForClient(session, place);
    session.begin();
  }

  /** The client waits for the broker: until `answered`, none of the client's time passes. */
  working(session: Session): void {
    const place = this.#places.get(session);
    if (!place) return;
    place.cancelTimeout();
    // A clock that was set back gives no more time than there was.
    place.left -= Math.max(0, this.#deps.now() - place.since);
    place.cancelTimeout = this.#deps.after(brokerTimeout, () => end(session, vaultTooSlow()));
  }

  answered(session: Session): void {
    const place = this.#places.get(session);
    if (!place) return;
    place.cancelTimeout();
    this.#waitForClient(session, place);
  }

  #waitForClient(session: Session, place: Place): void {
    place.since = this.#deps.now();
    place.cancelTimeout = this.#deps.after(place.left, () => end(session, clientTooSlow()));
  }

  /** The session has proved itself, waits for its pairing, or is gone. */
  leave(session: Session): void {
    this.#places.get(session)?.cancelTimeout();
    this.#places.delete(session);
    this.#line.delete(session);
    this.#serveLine();
  }

  /** Ends the oldest connection of the process that holds most, if it holds more than the newcomer will. */
  #makeRoomFor(newcomer: string, held: ReadonlyMap<string, number>): boolean {
    const greediest = largestOf(held, newcomer);
    const [oldest, place] = [...this.#places].find(([, { process }]) => process === greediest) ?? [];
    if (!oldest || !place) return false;
    // A clock that was set back makes nobody wait longer.
    const wait = Math.min(undisturbed, undisturbed - (this.#deps.now() - place.taken));
    if (wait > 0) {
      this.#cancelLook = this.#deps.after(wait, () => this.#serveLine());
      return false;
    }
    place.cancelTimeout();
    this.#places.delete(oldest);
    this.#turnAway(oldest);
    return true;
  }

  /** The same for those who wait; of them the youngest leaves. */
  #shortenLineFor(newcomer: string): boolean {
    const greediest = largestOf(countsOf([...this.#line.values()]), newcomer);
    const youngest = [...this.#line].findLast(([, process]) => process === greediest)?.[0];
    if (!youngest) return false;
    this.#line.delete(youngest);
    this.#turnAway(youngest);
    return true;
  }

  #turnAway(session: Session): void {
    this.#deps.onTurnedAway(session);
    session.refuse(crowded());
  }
}

function countsOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** The name that counts most, if that is more than the newcomer will have with one more. */
function largestOf(counts: ReadonlyMap<string, number>, newcomer: string): string | undefined {
  const [largest] = [...counts].sort(([, a], [, b]) => b - a);
  return largest && largest[1] > (counts.get(newcomer) ?? 0) + 1 ? largest[0] : undefined;
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

function crowded(): KeyturnError {
  return new KeyturnError('rate_limited', 'too many connections are saying hello at once', {
    retryAfter: handshakeTimeout / 1000,
  });
}
