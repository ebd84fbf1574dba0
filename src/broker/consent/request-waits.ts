/**
 * How long an app has to wait until it may ask the user again after a request that got no approval, so that it can't fill
 * the screen with cards. A card is a request as the user sees it.
 *
 * Invariant: each card that ends without an approval or a remembered denial doubles this app's next wait; those that end
 * together do so once. An approval ends the wait. For cards about access, so does a permission for the app, or a
 * sign-in at the only server that its cards named (consent.ts).
 */
import { Backoff } from '../../base/backoff.ts';

/** Milliseconds after a wait without another such card until it is forgotten: as long as the longest wait. */
const quiet = 300_000;

export class RequestWaits {
  readonly #now: () => number;
  readonly #waits: Backoff;
  /** By who has to wait: the endpoints that their cards were about. */
  readonly #endpoints = new Map<string, Set<string>>();

  constructor(now: () => number) {
    this.#now = now;
    this.#waits = new Backoff(now);
  }

  /** Whole seconds until `who` may ask again; 0: now. */
  left(who: string): number {
    const last = this.#waits.trouble(who);
    if (last && this.#now() > last.nextTryAt + quiet) this.end(who);
    return Math.ceil(this.#waits.left(who) / 1000);
  }

  /** A card of `who` (about `endpoint`, if given) got no approval: their next pause is longer. */
  lengthen(who: string, endpoint?: string): void {
    if (this.left(who) === 0) this.#waits.failed(who);
    const endpoints = this.#endpoints.get(who) ?? new Set();
    if (endpoint !== undefined) endpoints.add(endpoint);
    this.#endpoints.set(who, endpoints);
  }

  end(who: string): void {
    this.#waits.succeeded(who);
    this.#endpoints.delete(who);
  }

  /** The user acts at an endpoint by themselves: an app whose cards were about nothing else may ask again. */
  userActed(endpoint: string): void {
    for (const [who, endpoints] of this.#endpoints)
      if (endpoints.delete(endpoint) && endpoints.size === 0) this.end(who);
  }
}
