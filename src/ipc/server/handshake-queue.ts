/**
 * Connections that haven't proved a key yet: how many, and for how long.
 *
 * Invariant: at most 64 are read at once. Up to 1,024 more wait unread, and are served in the order in which they came.
 * The app has `handshakeTimeout` for its part of a handshake. That time stops while the broker works on what the
 * app sent; `brokerTimeout` bounds the work.
 */
import { KeyturnError } from '../../base/errors.ts';
import type { Session } from './session.ts';
import { brokerTimeout, handshakeTimeout } from '../wire/limits.ts';
import type { After } from '../wire/timer.ts';

/** Connections without a proof that are read at once. */
const maxActive = 64;

/** Connections that wait: several crowds of programs that start together. Each takes a descriptor. */
const maxWaiting = 1024;

interface Turn {
  /** Milliseconds that the app has left, as of `since`. */
  left: number;
  /** As `now` gives it. */
  since: number;
  cancelTimeout: () => void;
}

export class HandshakeQueue {
  readonly #after: After;
  readonly #now: () => number;
  readonly #active = new Map<Session, Turn>();
  /** Oldest first. */
  readonly #waiting = new Set<Session>();

  /** `now`: milliseconds, steady. */
  constructor(after: After, now: () => number) {
    this.#after = after;
    this.#now = now;
  }

  /** Starts the session when its turn comes; false if there is no room to wait. */
  admit(session: Session): boolean {
    if (this.#waiting.size >= maxWaiting) return false;
    this.#waiting.add(session);
    this.#startNext();
    return true;
  }

  #startNext(): void {
    for (const session of this.#waiting) {
      if (this.#active.size >= maxActive) return;
      this.#waiting.delete(session);
      const turn = { left: handshakeTimeout, since: 0, cancelTimeout: () => {} };
      this.#active.set(session, turn);
      this.#waitForClient(session, turn);
      session.begin();
    }
  }

  #waitForClient(session: Session, turn: Turn): void {
    turn.since = this.#now();
    turn.cancelTimeout = this.#after(turn.left, () => end(session, appTooSlow()));
  }

  /** The app waits for the broker until `answered`. */
  working(session: Session): void {
    const turn = this.#active.get(session);
    if (!turn) return;
    turn.cancelTimeout();
    // If the clock was set back, the app gets no extra time.
    turn.left -= Math.max(0, this.#now() - turn.since);
    turn.cancelTimeout = this.#after(brokerTimeout, () => end(session, vaultTooSlow()));
  }

  answered(session: Session): void {
    const turn = this.#active.get(session);
    if (!turn) return;
    turn.cancelTimeout();
    this.#waitForClient(session, turn);
  }

  /** The session has proved itself, waits for its pairing, or is gone. */
  leave(session: Session): void {
    this.#active.get(session)?.cancelTimeout();
    this.#active.delete(session);
    this.#waiting.delete(session);
    this.#startNext();
  }
}

function end(session: Session, error: KeyturnError): void {
  session.refuseAndClose(error);
  session.destroy();
}

function appTooSlow(): KeyturnError {
  const seconds = handshakeTimeout / 1000;
  return new KeyturnError(
    'handshake_failed',
    `the app took longer than ${seconds} seconds for its part of the handshake`,
  );
}

/** Not the app's fault, so it doesn't count as a failed handshake. */
function vaultTooSlow(): KeyturnError {
  const seconds = brokerTimeout / 1000;
  return new KeyturnError('vault_unavailable', `the vault did not answer within ${seconds} seconds`, {
    hint: 'The keychain may wait for you: answer it, or run keyturn unlock.',
  });
}
