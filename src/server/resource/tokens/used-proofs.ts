/**
 * The proofs that were used (RFC 9449 §11.1), and how much of this memory one holder of tokens may fill.
 *
 * Invariant: never more than `max` proofs, and none is forgotten before its end. A holder may have as many proofs here
 * as there are free places: a flood of one holder leaves half of them to the others, a flood of two leaves a third.
 */

/** What one holder has here. */
interface Share {
  readonly holder: string;
  count: number;
}

export class UsedProofs {
  /** In the order of their ends, since all last equally long. */
  readonly #proofs = new Map<string, { readonly until: number; readonly share: Share }>();
  /** Of the holders that have a proof here. */
  readonly #shares = new Map<string, Share>();
  readonly #max: number;
  readonly #lifetime: number;
  readonly #now: () => number;

  /** `lifetime` and `now`: in milliseconds. */
  constructor(max: number, lifetime: number, now: () => number) {
    this.#max = max;
    this.#lifetime = lifetime;
    this.#now = now;
  }

  /** Takes it in, unless it is here or its holder has no place for it. There is no await between look and entry. */
  add(proof: string, holder: string): 'new' | 'used' | 'no place' {
    this.#dropEnded();
    if (this.#proofs.has(proof)) return 'used';
    const share = this.#shares.get(holder) ?? { holder, count: 0 };
    if (share.count >= this.#max - this.#proofs.size) return 'no place';
    share.count += 1;
    this.#shares.set(holder, share);
    this.#proofs.set(proof, { until: this.#now() + this.#lifetime, share });
    return 'new';
  }

  #dropEnded(): void {
    const now = this.#now();
    for (const [proof, { until, share }] of this.#proofs) {
      if (until > now) break;
      this.#proofs.delete(proof);
      share.count -= 1;
      if (share.count === 0) this.#shares.delete(share.holder);
    }
  }
}
