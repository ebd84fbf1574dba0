/**
 * How long somebody whose cards came to nothing has to wait before the next one, so that nobody buries the desk.
 *
 * Invariant: each card that was put off, refused or withdrawn after a pause doubles the next pause. Cards that
 * end together count once. A pause is one program's, wherever it asks, and only what the person does about
 * that program ends it: a yes to it, a permission for it, or signing in at the server that alone its cards were
 * about, which is what it was put off for. What they do about another program, or elsewhere, says nothing of
 * whether they want to see this one's cards again.
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

  /** A card of theirs, about this endpoint if it was about one, came to nothing. */
  cameToNothing(who: string, endpoint?: string): void {
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

  /** The person acts at an endpoint by themselves: a program whose cards were about nothing else may ask again. */
  actedAt(endpoint: string): void {
    for (const [who, endpoints] of this.#endpoints)
      if (endpoints.delete(endpoint) && endpoints.size === 0) this.end(who);
  }
}
