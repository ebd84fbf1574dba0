/**
 * A map for what strangers make grow: bounded in entries, each with an end.
 *
 * Invariant: never more than `max` entries, and no entry is read after its end. The oldest gives way.
 */
export class BoundedMap<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly until: number }>();
  readonly #max: number;
  readonly #now: () => number;

  /** @param now milliseconds, as `until` is. */
  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > this.#now()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  /** The new entry becomes the youngest; the oldest gives way if there are too many. */
  set(key: string, value: V, until: number): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#max) this.#dropEnded();
    for (const [oldest] of this.#entries) {
      if (this.#entries.size < this.#max) break;
      this.#entries.delete(oldest);
    }
    this.#entries.set(key, { value, until });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Most entries end in the order in which they came, so the first that has not ended is the last to look at. */
  #dropEnded(): void {
    const now = this.#now();
    for (const [key, { until }] of this.#entries) {
      if (until > now) break;
      this.#entries.delete(key);
    }
  }
}
