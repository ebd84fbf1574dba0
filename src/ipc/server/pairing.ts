/**
 * The queue in which programs without a key wait for the owner's answer.
 *
 * Invariant: at most three wait, none longer than two minutes, and a program that leaves withdraws
 * its card. After a refusal nobody may ask for a while, under any name: names prove nothing.
 */
import { type KeyObject, randomInt } from 'node:crypto';

import { untilAborted } from '../../base/abort.ts';
import { doubled } from '../../base/backoff.ts';
import { KeyturnError } from '../../base/errors.ts';
import type { PeerFacts } from '../peer/peer.ts';
import type { After } from '../wire/timer.ts';

/** What the owner is asked. `signal` ends the question: the program left, or nobody answered in time. */
export interface PairRequest {
  readonly name: string;
  /** Six digits, shown by the program and on the card: it ties the card to the asker. */
  readonly code: string;
  readonly peer: PeerFacts;
  /** Reads the peer again: a card whose asker has changed is void. */
  readonly peerNow: () => PeerFacts;
  readonly signal: AbortSignal;
}

export interface Paired {
  readonly clientId: string;
  readonly key: KeyObject;
}

export interface PairingDeps {
  /** Resolves when the owner said yes; rejects with `pairing_denied` when they said no. */
  readonly pair: (request: PairRequest) => Promise<Paired>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly after: After;
}

/** Cards waiting at once: more would be a nuisance, not a choice. */
const maxWaiting = 3;

/** Milliseconds a card stays: time to find the window, compare six digits and decide. */
const cardLifetime = 2 * 60_000;

/** Milliseconds of the first pause; it doubles each time. */
const firstPause = 1000;

/** The longest pause, in milliseconds. Also: quiet for this long after a pause, and counting begins anew. */
const maxPause = 5 * 60_000;

export class PairingQueue {
  readonly #deps: PairingDeps;
  #waiting = 0;
  #refusals = 0;
  #pausedUntil = 0;

  constructor(deps: PairingDeps) {
    this.#deps = deps;
  }

  /** Throws `rate_limited` where nobody may ask now; else takes a place, and calls `showCode` at once. */
  async ask(
    asker: Omit<PairRequest, 'code' | 'signal'>,
    gone: AbortSignal,
    showCode: (code: string) => void,
  ): Promise<Paired> {
    this.#admit();
    const code = String(randomInt(1_000_000)).padStart(6, '0');
    showCode(code);
    this.#waiting += 1;
    const late = new AbortController();
    const cancel = this.#deps.after(cardLifetime, () => late.abort());
    const signal = AbortSignal.any([gone, late.signal]);
    try {
      // Never waits for an answer that nobody needs any more, even if the asked side ignores its signal.
      const paired = await untilAborted(this.#deps.pair({ ...asker, code, signal }), signal);
      this.#refusals = 0;
      return paired;
    } catch (error) {
      this.#pause();
      throw signal.aborted ? unanswered() : error;
    } finally {
      cancel();
      this.#waiting -= 1;
    }
  }

  #admit(): void {
    const now = this.#deps.now();
    if (now < this.#pausedUntil) throw tooMany(Math.ceil((this.#pausedUntil - now) / 1000));
    if (this.#waiting >= maxWaiting) throw tooMany(cardLifetime / 1000);
  }

  /** A card that its asker withdrew counts as well: else cards could be made to flicker without end. */
  #pause(): void {
    const now = this.#deps.now();
    if (now > this.#pausedUntil + maxPause) this.#refusals = 0;
    this.#refusals += 1;
    this.#pausedUntil = now + doubled(this.#refusals, firstPause, maxPause);
  }
}

function unanswered(): KeyturnError {
  return new KeyturnError('pairing_denied', 'nobody allowed the pairing within two minutes', {
    hint: 'Ask again when you are at the machine, and compare the six digits.',
  });
}

function tooMany(retryAfter: number): KeyturnError {
  return new KeyturnError('rate_limited', 'too many pairings were asked for, or one was just refused', {
    retryAfter,
    hint: 'Answer the waiting cards, then ask again.',
  });
}
