/**
 * Whose turn it is to have something fetched that a client named. Anybody can ask for it.
 *
 * Invariant: strangers have a bounded number of requests under way, and none of them more than a few, so that one who
 * names silent hosts keeps nobody else waiting. They take no turn of what clients with tokens need, or of what the
 * operator named. Memory is bounded.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { KeyturnError } from '../../../base/errors.ts';
import { BoundedMap } from '../../resource/base/bounded-map.ts';

/** Requests under way for strangers, and as many for clients that are known. */
const maxAtOnce = 50;

/** Of one stranger. */
const maxOfOne = 4;

/** URLs that are known at once, of up to 8 KiB. */
const maxKnown = 1000;

/** A month, in ms since the client's last token. */
const memory = 30 * 24 * 60 * 60 * 1000;

export class Turns {
  readonly #named: ReadonlySet<string>;
  readonly #now: () => number;
  readonly #known: BoundedMap<true>;
  /** Who the request that runs here is from. */
  readonly #caller = new AsyncLocalStorage<string>();
  /** Requests under way, by stranger. */
  readonly #ofStrangers = new Map<string, number>();
  #all = { strangers: 0, known: 0 };

  /** `named`: URLs that the operator named. `now`: milliseconds. */
  constructor(named: readonly string[], now: () => number) {
    this.#named = new Set(named);
    this.#now = now;
    this.#known = new BoundedMap(maxKnown, now);
  }

  /** What is fetched in `act` is fetched for this caller. */
  askedBy<T>(caller: string, act: () => T): T {
    return this.#caller.run(caller, act);
  }

  /** A client whose document or key set is at this URL got a token. */
  know(url: string): void {
    this.#known.set(url, true, this.#now() + memory);
  }

  /** Throws rate_limited if it isn't this caller's turn. */
  async take<T>(url: string, act: () => Promise<T>): Promise<T> {
    const kind = this.#named.has(url) || this.#known.get(url) ? 'known' : 'strangers';
    const caller = this.#caller.getStore() ?? '';
    const own = this.#ofStrangers.get(caller) ?? 0;
    const isOver = this.#all[kind] >= maxAtOnce || (kind === 'strangers' && own >= maxOfOne);
    if (isOver)
      throw new KeyturnError('rate_limited', 'Too much is being fetched for clients now. Try again later.');
    this.#count(kind, caller, 1);
    try {
      return await act();
    } finally {
      this.#count(kind, caller, -1);
    }
  }

  #count(kind: 'strangers' | 'known', caller: string, by: number): void {
    this.#all[kind] += by;
    if (kind === 'known') return;
    const own = (this.#ofStrangers.get(caller) ?? 0) + by;
    if (own === 0) this.#ofStrangers.delete(caller);
    else this.#ofStrangers.set(caller, own);
  }
}
