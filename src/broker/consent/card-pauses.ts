/**
 * How long an app has to wait for its next card after one that got no yes, so that it can't fill the screen with
 * cards.
 *
 * Invariant: each card that the person refuses or puts off, or that the program withdraws, doubles this program's next
 * pause. Cards that end together count once. Only these end the pause: a yes, a permission for the app, or a
 * sign-in at the only server its cards named.
 */
import { Backoff } from '../../base/backoff.ts';

/** Milliseconds after a pause without another such card until it is forgotten: as long as the longest pause. */
const quiet = 300_000;

export class CardPauses {
  readonly #now: () => number;
  readonly #pauses: Backoff;
  /** By who has to wait: the endpoints that their cards were about. */
  readonly #endpoints = new Map<string, Set<string>>();

  constructor(now: () => number) {
    this.#now = now;
    this.#pauses = new Backoff(now);
  }

  /** Whole seconds until `who` may ask again; 0: now. */
  left(who: string): number {
    const last = this.#pauses.trouble(who);
    if (last && this.#now() > last.nextTryAt + quiet) this.end(who);
    return Math.ceil(this.#pauses.left(who) / 1000);
  }

  /** A card of `who` (about `endpoint`, if given) got no yes: their next pause is longer. */
  lengthen(who: string, endpoint?: string): void {
    if (this.left(who) === 0) this.#pauses.failed(who);
    const endpoints = this.#endpoints.get(who) ?? new Set();
    if (endpoint !== undefined) endpoints.add(endpoint);
    this.#endpoints.set(who, endpoints);
  }

  /** The person allowed `who` something. */
  end(who: string): void {
    this.#pauses.succeeded(who);
    this.#endpoints.delete(who);
  }

  /** The person acts at an endpoint by themselves: an app whose cards were about nothing else may ask again. */
  actedAt(endpoint: string): void {
    for (const [who, endpoints] of this.#endpoints)
      if (endpoints.delete(endpoint) && endpoints.size === 0) this.end(who);
  }
}
