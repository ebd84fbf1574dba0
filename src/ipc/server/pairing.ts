/**
 * The queue in which apps without a key wait for the user's answer.
 *
 * Invariant: at most three cards wait. A card ends after two minutes, or when its app leaves. With a ticket the card
 * stays for ten minutes without its app, and the user's answer for ten more, for who shows that ticket. After a
 * refusal nobody may ask for a while, under any name: names prove nothing.
 */
import { type KeyObject, randomInt } from 'node:crypto';
import { untilAborted } from '../../base/abort.ts';
import { doubled } from '../../base/backoff.ts';
import { KeyturnError, reasonOf } from '../../base/errors.ts';
import type { PeerFacts } from '../peer/peer.ts';
import type { After } from '../wire/timer.ts';

/** What the user is asked. `signal` ends the question: the app left, or nobody answered in time. */
export interface PairRequest {
  readonly name: string;
  /** Six digits, shown by the app and on the card: it ties the card to the app. */
  readonly code: string;
  readonly peer: PeerFacts;
  /** Reads the peer again: a card whose app has changed is void. */
  readonly peerNow: () => PeerFacts;
  /** False once the app's connection has ended: with a ticket, the card stays then. */
  readonly isOpen: () => boolean;
  readonly signal: AbortSignal;
}

type NewApp = Omit<PairRequest, 'code' | 'signal'> & {
  /**
   * The hash of the app's ticket. It sets the app apart from programs that reach this socket and no file of the
   * home, such as one in a sandbox: they know its name, and can't take its answer. It protects from nobody who reads
   * those files: the key of the pairing is written beside the ticket, and who reads one reads the other.
   */
  readonly ticket?: string | undefined;
};

export interface NewPairing {
  readonly appId: string;
  readonly key: KeyObject;
}

export interface PairingDeps {
  /**
   * Resolves when the user approved it, with what then makes the pairing: its key has to be used soon. Rejects with
   * `pairing_denied` when they denied it.
   */
  readonly pair: (request: PairRequest) => Promise<() => Promise<NewPairing>>;
  /** Milliseconds, steady. */
  readonly now: () => number;
  readonly after: After;
}

interface Card {
  readonly code: string;
  readonly answer: Promise<() => Promise<NewPairing>>;
}

/** A card that stays without its app. */
interface DetachedCard extends Card {
  /** Made once somebody is there to take it: a key that nobody uses ends soon. All who come in time get the same one. */
  made?: Promise<NewPairing> | undefined;
  /** When its answer is forgotten. */
  until: number;
}

/** Cards waiting at once: more would be a nuisance, not a choice. */
const maxWaiting = 3;

/** Milliseconds a card stays: time to find the window, compare six digits and decide. */
const cardLifetime = 2 * 60_000;

/** Milliseconds that a card stays without its app, and then its answer: as long as any other request. */
const detachedLifetime = 10 * 60_000;

/** Milliseconds in which the other processes of the app find the key that the first one took. */
const sharedFor = 30_000;

/** Apps waiting at once, with those that share a card: each holds a connection. */
const maxWaitingApps = 64;

/** Milliseconds of the first pause; it doubles each time. */
const firstPause = 1000;

/** The longest pause, in milliseconds. Also: quiet for this long after a pause, and counting begins again. */
const maxPause = 5 * 60_000;

export class PairingQueue {
  readonly #deps: PairingDeps;
  readonly #over = new AbortController();
  /** By ticket and name. */
  readonly #detached = new Map<string, DetachedCard>();
  #waiting = 0;
  #waitingApps = 0;
  #refusals = 0;
  #pausedUntil = 0;

  constructor(deps: PairingDeps) {
    this.#deps = deps;
  }

  /** Throws `rate_limited` where nobody may ask now; else takes a place, and calls `showCode` at once. */
  async ask(newApp: NewApp, gone: AbortSignal, showCode: (code: string) => void): Promise<NewPairing> {
    if (newApp.ticket === undefined) {
      const { code, answer } = this.#open(newApp, [gone], cardLifetime);
      showCode(code);
      return (await answer)();
    }
    if (this.#waitingApps >= maxWaitingApps) throw tooMany(1);
    const card = this.#cardOf(`${newApp.ticket} ${newApp.name}`, newApp);
    showCode(card.code);
    this.#waitingApps += 1;
    try {
      return await this.#made(card, await untilAborted(card.answer, gone));
    } finally {
      this.#waitingApps -= 1;
    }
  }

  async #made(card: DetachedCard, make: () => Promise<NewPairing>): Promise<NewPairing> {
    card.made ??= make();
    try {
      const paired = await card.made;
      card.until = Math.min(card.until, this.#deps.now() + sharedFor);
      return paired;
    } catch (error) {
      // Such as a vault that was locked after the answer: the next start tries again.
      card.made = undefined;
      throw error;
    }
  }

  /** Withdraws the cards that stay without their apps. */
  end(): void {
    this.#over.abort();
  }

  #cardOf(shown: string, newApp: NewApp): DetachedCard {
    const now = this.#deps.now();
    for (const [other, { until }] of this.#detached) if (until <= now) this.#detached.delete(other);
    const known = this.#detached.get(shown);
    if (known) return known;
    const card = this.#open(newApp, [], detachedLifetime);
    const detached: DetachedCard = { ...card, until: Infinity };
    this.#detached.set(shown, detached);
    card.answer.then(
      () => (detached.until = this.#deps.now() + detachedLifetime),
      (error: unknown) => {
        // Only the user's word is kept: what hindered the question is asked again.
        if (reasonOf(error) === 'pairing_denied') detached.until = this.#deps.now() + detachedLifetime;
        else this.#detached.delete(shown);
      },
    );
    return detached;
  }

  #open(newApp: NewApp, ends: readonly AbortSignal[], lifetime: number): Card {
    this.#admit();
    const { name, peer, peerNow, isOpen } = newApp;
    const code = String(randomInt(1_000_000)).padStart(6, '0');
    this.#waiting += 1;
    const late = new AbortController();
    const cancel = this.#deps.after(lifetime, () => late.abort());
    const signal = AbortSignal.any([...ends, late.signal, this.#over.signal]);
    // Never waits for an answer that nobody needs any more, even if the asked side ignores its signal.
    const answer = untilAborted(this.#deps.pair({ name, code, peer, peerNow, isOpen, signal }), signal)
      .then(
        (make) => {
          this.#refusals = 0;
          return make;
        },
        (error: unknown) => {
          this.#pause();
          throw signal.aborted ? unanswered(lifetime) : error;
        },
      )
      .finally(() => {
        cancel();
        this.#waiting -= 1;
      });
    return { code, answer };
  }

  #admit(): void {
    const now = this.#deps.now();
    if (now < this.#pausedUntil) throw tooMany(Math.ceil((this.#pausedUntil - now) / 1000));
    if (this.#waiting >= maxWaiting) throw tooMany(cardLifetime / 1000);
  }

  /** A card that its app withdrew counts as well: else cards could be made to flicker without end. */
  #pause(): void {
    const now = this.#deps.now();
    if (now > this.#pausedUntil + maxPause) this.#refusals = 0;
    this.#refusals += 1;
    this.#pausedUntil = now + doubled(this.#refusals, firstPause, maxPause);
  }
}

function unanswered(lifetime: number): KeyturnError {
  const [reason, time] =
    lifetime === cardLifetime ? (['pairing_denied', 'two'] as const) : (['consent_pending', 'ten'] as const);
  return new KeyturnError(reason, `nobody allowed the pairing within ${time} minutes`, {
    hint: 'Ask again when you are at the machine, and compare the six digits.',
  });
}

function tooMany(retryAfter: number): KeyturnError {
  return new KeyturnError('rate_limited', 'too many pairings were asked for, or one was just refused', {
    retryAfter,
    hint: 'Answer the waiting cards, then ask again.',
  });
}
