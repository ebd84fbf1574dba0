/**
 * The broker's regular work: refreshes tokens that are in use, and notes changes of the clock.
 *
 * Invariants: there is one coarse tick that compares times, so a suspend changes nothing. It opens no page, no question
 * and no keychain prompt. A token is refreshed before its margin only if an app got it; an unused one is left to
 * expire. A failure goes to the audit log only; the next request reports it. Refreshes that are due together start one
 * after another, so that no request waits behind all of them.
 */
import type { Refresher, RefresherParts } from './refresher.ts';
import type { ServerRests } from './server-rests.ts';
import { fullScope, type AccessToken } from './token-cache.ts';

interface UpkeepParts extends Pick<RefresherParts, 'clock' | 'cache' | 'signIns' | 'audit'> {
  readonly refresher: Refresher;
  readonly rests: ServerRests;
}

/** Milliseconds. Short enough to meet the margin of a token of half a minute (6 s), long enough to cost nothing. */
export const tickEvery = 5000;

/** Milliseconds between the starts of two refreshes: 500 start in ten seconds, and none waits for another. */
export const startEvery = 20;

/** Milliseconds by which the clocks may differ between two ticks before it is reported: a busy machine ticks late. */
const notable = 5000;

interface Reading {
  readonly now: number;
  readonly wall: number;
  readonly awake: number;
}

export class Upkeep {
  readonly #parts: UpkeepParts;
  readonly #end = new AbortController();
  #last: Reading;
  /** Sign-ins that were due at a tick and wait for their start. */
  readonly #due = new Set<string>();
  #isStarting = false;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
    this.#last = this.#read();
  }

  /** Ticks until `stop`; the first time after one interval, so that a start touches nothing. */
  start(): void {
    const again = (): void => {
      this.tick();
      this.start();
    };
    this.#parts.clock.sleep(tickEvery, this.#end.signal).then(again, () => undefined);
  }

  stop(): void {
    this.#end.abort();
  }

  /** Starts what is due, and waits for none of it. */
  tick(): void {
    this.#noteTime();
    for (const signInId of this.#parts.cache.signInIds()) {
      if (this.#isDue(signInId)) this.#due.add(signInId);
    }
    if (!this.#isStarting) void this.#startDue();
  }

  /** What a tick adds meanwhile is started too. Each is looked at again: much may have happened during a sign-in. */
  async #startDue(): Promise<void> {
    const { clock, refresher } = this.#parts;
    this.#isStarting = true;
    try {
      for (const signInId of this.#due) {
        this.#due.delete(signInId);
        if (refresher.failures.isUpkeepHeld || !this.#isDue(signInId)) continue;
        void this.#refresh(signInId);
        if (this.#due.size > 0) await clock.sleep(startEvery, this.#end.signal);
      }
    } catch {
      // Stopped: the sleep ended early.
      this.#due.clear();
    } finally {
      this.#isStarting = false;
    }
  }

  /** A token with a margin shorter than a tick is left to the requests: a tick may miss its last moments. */
  #isDue(signInId: string): boolean {
    const { cache, clock, signIns, refresher } = this.#parts;
    const token = cache.get(signInId, fullScope);
    if (!token || token.handedTo.size === 0 || token.margin < tickEvery) return false;
    const signIn = signIns.byId(signInId);
    if (signIn?.state.kind !== 'active' || !signIn.hasRefreshToken) return false;
    if (refresher.failures.backoff.left(signInId) > 0 || refresher.turns.isTaken(signInId)) return false;
    const left = token.expiresAt - clock.now();
    return left > 0 && left <= quietMargin(token);
  }

  async #refresh(signInId: string): Promise<void> {
    try {
      await this.#parts.refresher.refresh(signInId, undefined, this.#end.signal);
    } catch {
      // The refresher wrote it down; the backoff says when to try again.
    }
  }

  /** The machine woke up, or the network is back: earlier failures are forgotten, and time may have passed. */
  resumed(): void {
    this.#wake();
    this.tick();
  }

  #wake(): void {
    this.#parts.refresher.failures.backoff.wake();
    this.#parts.rests.wake();
  }

  #noteTime(): void {
    const { audit } = this.#parts;
    const last = this.#last;
    const read = this.#read();
    this.#last = read;
    const slept = read.now - last.now - (read.awake - last.awake);
    if (slept > notable) {
      this.#wake();
      audit.note({ event: 'clock', outcome: `resumed after ${seconds(slept)} s` });
    }
    const set = read.wall - last.wall - (read.now - last.now);
    if (Math.abs(set) > notable) {
      const way = set > 0 ? 'forward' : 'back';
      audit.note({ event: 'clock', outcome: `set ${way} by ${seconds(Math.abs(set))} s` });
    }
  }

  #read(): Reading {
    const { clock } = this.#parts;
    return { now: clock.now(), wall: clock.wall(), awake: clock.awake() };
  }
}

/** Milliseconds: a tick before the margin at which a request would have to wait for the refresh. */
export function quietMargin({ margin }: AccessToken): number {
  return margin + tickEvery;
}

const seconds = (milliseconds: number): number => Math.round(milliseconds / 1000);
