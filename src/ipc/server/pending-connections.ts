/**
 * Connections that haven't proved a key yet: how many, and for how long.
 *
 * Invariant: at most 64 are read at once; the next ones wait, unread, until a place is free. Each client has
 * `handshakeTimeout` for its own part; while the broker works on what the client sent, that time stands still, and
 * `brokerTimeout` bounds the work. A process that holds many of the places makes room for one that holds few, and
 * processes that hold as many take turns, so that no single process can keep the others out.
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

/** Milliseconds of the client's turn in which it has its place for sure: many times what a handshake takes. */
const undisturbed = 500;

interface Place {
  readonly process: string;
  /** The broker works on what the client sent. */
  isWorking: boolean;
  /** Milliseconds that the client has left, as of `since`. */
  left: number;
  /** When the client's turn began, in milliseconds since 1970. */
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
  /** How many places each process holds. */
  readonly #held = new Map<string, number>();
  /** Those who wait, oldest first, by their process. A process goes to the end when it gives a place back. */
  readonly #line = new Map<string, Set<Session>>();
  #waiting = 0;
  #cancelLook: (() => void) | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Begins the session once there is a place for it; false where it was turned away. */
  admit(session: Session): boolean {
    const process = nameOf(session);
    if (this.#waiting >= maxWaiting && !this.#shortenLineFor(process)) {
      this.#turnAway(session);
      return false;
    }
    const others = this.#line.get(process);
    if (others) others.add(session);
    else this.#line.set(process, new Set([session]));
    this.#waiting += 1;
    this.#serveLine();
    return true;
  }

  #serveLine(): void {
    this.#cancelLook?.();
    this.#cancelLook = undefined;
    for (let next = this.#next(); next; next = this.#next()) {
      const [session, process] = next;
      if (this.#places.size >= maxUnproven && !this.#makeRoomFor(process)) return;
      this.#leaveLine(session, process);
      this.#seat(session, process);
    }
  }

  /** The oldest of the process that holds the fewest places; where several do, of the first of them. */
  #next(): readonly [Session, string] | undefined {
    let best: string | undefined;
    for (const process of this.#line.keys()) {
      if (best === undefined || this.#heldBy(process) < this.#heldBy(best)) best = process;
      if (this.#heldBy(best) === 0) break;
    }
    if (best === undefined) return undefined;
    const [oldest] = this.#line.get(best) ?? [];
    return oldest && [oldest, best];
  }

  #heldBy(process: string): number {
    return this.#held.get(process) ?? 0;
  }

  #seat(session: Session, process: string): void {
    const place = {
      process,
      isWorking: false,
      left: handshakeTimeout,
      since: 0,
      cancelTimeout: () => {},
    };
    this.#places.set(session, place);
    this.#held.set(process, this.#heldBy(process) + 1);
    this.#waitForClient(session, place);
    session.begin();
  }

  /** The client waits for the broker: until `answered`, none of the client's time passes. */
  working(session: Session): void {
    const place = this.#places.get(session);
    if (!place) return;
    place.isWorking = true;
    place.cancelTimeout();
    // A clock that was set back gives no more time than there was.
    place.left -= Math.max(0, this.#deps.now() - place.since);
    place.cancelTimeout = this.#deps.after(brokerTimeout, () => end(session, vaultTooSlow()));
  }

  answered(session: Session): void {
    const place = this.#places.get(session);
    if (!place) return;
    place.isWorking = false;
    place.cancelTimeout();
    this.#waitForClient(session, place);
    // Now it may have to give way.
    this.#serveLine();
  }

  #waitForClient(session: Session, place: Place): void {
    place.since = this.#deps.now();
    place.cancelTimeout = this.#deps.after(place.left, () => end(session, clientTooSlow()));
  }

  /** The session has proved itself, waits for its pairing, or is gone. */
  leave(session: Session): void {
    this.#leavePlace(session);
    this.#leaveLine(session, nameOf(session));
    this.#serveLine();
  }

  #leavePlace(session: Session): void {
    const place = this.#places.get(session);
    if (!place) return;
    place.cancelTimeout();
    this.#places.delete(session);
    const left = this.#heldBy(place.process) - 1;
    if (left > 0) this.#held.set(place.process, left);
    else this.#held.delete(place.process);
    this.#endTurn(place.process);
  }

  /** Others who wait and hold as few places come first now. */
  #endTurn(process: string): void {
    const waiting = this.#line.get(process);
    if (!waiting) return;
    this.#line.delete(process);
    this.#line.set(process, waiting);
  }

  #leaveLine(session: Session, process: string): void {
    const waiting = this.#line.get(process);
    if (!waiting?.delete(session)) return;
    this.#waiting -= 1;
    if (waiting.size === 0) this.#line.delete(process);
  }

  /** Ends the oldest connection that has to give way to the newcomer, if there is one. */
  #makeRoomFor(newcomer: string): boolean {
    const [oldest, place] = this.#oldestToGoFor(newcomer) ?? [];
    if (!oldest || !place) return false;
    // A clock that was set back makes nobody wait longer.
    place.since = Math.min(place.since, this.#deps.now());
    const wait = undisturbed - (this.#deps.now() - place.since);
    if (wait > 0) {
      this.#cancelLook = this.#deps.after(wait, () => this.#serveLine());
      return false;
    }
    this.#leavePlace(oldest);
    this.#turnAway(oldest);
    return true;
  }

  /** The process that holds most gives way, if it holds more than the newcomer will. */
  #oldestToGoFor(newcomer: string): [Session, Place] | undefined {
    const places = [...this.#places];
    const greediest = largestOf(this.#held, this.#heldBy(newcomer));
    if (greediest !== undefined) return places.find(([, { process }]) => process === greediest);
    if (newcomer !== unknown) return undefined;
    // They may be one program's or many's: whoever is silent gives way to the next.
    return places.find(([, { process, isWorking }]) => process === unknown && !isWorking);
  }

  /** Turns away the youngest of the process of which most wait, if more of it wait than of the newcomer will. */
  #shortenLineFor(newcomer: string): boolean {
    const counts = new Map([...this.#line].map(([process, { size }]) => [process, size]));
    const greediest = largestOf(counts, counts.get(newcomer) ?? 0);
    if (greediest === undefined) return false;
    const youngest = [...(this.#line.get(greediest) ?? [])].at(-1);
    if (!youngest) return false;
    this.#leaveLine(youngest, greediest);
    this.#turnAway(youngest);
    return true;
  }

  #turnAway(session: Session): void {
    this.#deps.onTurnedAway(session);
    session.refuse(crowded());
  }
}

/** The name that counts most, if that is more than the newcomer will have, who has `had`, with one more. */
function largestOf(counts: ReadonlyMap<string, number>, had: number): string | undefined {
  let largest: string | undefined;
  let most = had + 1;
  for (const [name, count] of counts) if (count > most) [largest, most] = [name, count];
  return largest;
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

/** Peers that can't be told apart share a name. */
const unknown = 'unknown';

function nameOf(session: Session): string {
  return processOf(session.peer) ?? unknown;
}

function crowded(): KeyturnError {
  return new KeyturnError('rate_limited', 'too many connections are saying hello at once', {
    retryAfter: handshakeTimeout / 1000,
  });
}
