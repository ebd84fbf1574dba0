/**
 * Bounds on what a local client can set off: step-ups and refused tokens.
 *
 * Invariant: after a few tries a failure is permanent until the user acts (spec, Step-up: "retries
 * are bounded"). Counted per local client, resource and operation, so that one program's loop
 * doesn't lock out another.
 */

/** DESIGN, Numbers: at most 3 tries in 10 minutes (milliseconds). */
const mostTries = 3;
const within = 600_000;

export class TryLimit {
  readonly #tries = new Map<string, number[]>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** True when no further try is allowed. Stays so until `clear`. */
  isExhausted(key: string): boolean {
    return (this.#tries.get(key)?.length ?? 0) >= mostTries;
  }

  add(key: string): void {
    if (this.isExhausted(key)) return;
    const since = this.#now() - within;
    const recent = (this.#tries.get(key) ?? []).filter((time) => time > since);
    this.#tries.set(key, [...recent, this.#now()]);
  }

  /** The user acted (signed in, allowed): keys that contain `part` start anew. */
  clear(part: string): void {
    for (const key of this.#tries.keys()) if (key.includes(part)) this.#tries.delete(key);
  }
}
