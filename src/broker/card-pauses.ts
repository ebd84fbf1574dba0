/**
 * How long somebody whose cards came to nothing has to wait before the next one, so that nobody buries the desk.
 *
 * Invariant: each card that was put off, refused or withdrawn after a pause doubles the next pause. Cards that
 * end together count once.
 */
import { Backoff } from './backoff.ts';

/** Milliseconds after a pause without another such card until it is forgotten: as long as the longest pause. */
const quiet = 300_000;

export class CardPauses {
  readonly #now: () => number;
  #pauses: Backoff;

  constructor(now: () => number) {
    this.#now = now;
    this.#pauses = new Backoff(now);
  }

  /** Whole seconds until `who` may ask again; 0: now. */
  left(who: string): number {
    const last = this.#pauses.trouble(who);
    if (last && this.#now() > last.nextTryAt + quiet) this.#pauses.succeeded(who);
    return Math.ceil(this.#pauses.left(who) / 1000);
  }

  /** A card of theirs came to nothing. */
  cameToNothing(who: string): void {
    if (this.left(who) === 0) this.#pauses.failed(who);
  }

  /** The person said yes to `who`. */
  end(who: string): void {
    this.#pauses.succeeded(who);
  }

  /** The person is there and acts by themselves. */
  endAll(): void {
    this.#pauses = new Backoff(this.#now);
  }
}
