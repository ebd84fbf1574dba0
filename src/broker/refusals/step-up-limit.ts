/**
 * The bound on the step-ups that a local client can set off.
 *
 * Invariant: after a few tries a failure is permanent until the user acts (spec, Step-up: "retries
 * are bounded"). Counted per local client, resource and operation, so that one program's loop
 * doesn't lock out another; and in all per local client and resource, because the caller chooses what it
 * calls an operation. What is remembered is bounded.
 */

/** At most 3 tries in 10 minutes (milliseconds). */
const maxTries = 3;
const within = 600_000;

/** Three operations' worth: a person who signs in for nine step-ups of one program in 10 minutes can sign in for all of them at once. */
const maxInAll = 9;

/** What a caller calls its operations is kept: more than a person at a sign-in page can have answered. */
const maxKeys = 1000;

export class TryLimit {
  readonly #tries = new Map<string, number[]>();
  readonly #now: () => number;
  readonly #most: number;

  constructor(now: () => number, most = maxTries) {
    this.#now = now;
    this.#most = most;
  }

  /** True when no further try is allowed. Stays so until `clear`. */
  isExhausted(key: string): boolean {
    return (this.#tries.get(key)?.length ?? 0) >= this.#most;
  }

  add(key: string): void {
    if (this.isExhausted(key)) return;
    const since = this.#now() - within;
    const recent = (this.#tries.get(key) ?? []).filter((time) => time > since);
    // The key that was used last stands last: the first one is forgotten first.
    this.#tries.delete(key);
    this.#tries.set(key, [...recent, this.#now()]);
    const [oldest] = this.#tries.keys();
    if (this.#tries.size > maxKeys && oldest !== undefined) this.#tries.delete(oldest);
  }

  /** The user acted (signed in, allowed): keys that contain `part` start anew. */
  clear(part: string): void {
    for (const key of this.#tries.keys()) if (key.includes(part)) this.#tries.delete(key);
  }
}

/** A step-up on its way. */
export interface StepUp {
  readonly clientId: string;
  readonly endpoint: string;
  /** What the local client calls it; '' where it says nothing. The wire bounds its length. */
  readonly operation: string;
}

export class StepUpLimit {
  readonly #perOperation: TryLimit;
  readonly #inAll: TryLimit;

  constructor(now: () => number) {
    this.#perOperation = new TryLimit(now);
    this.#inAll = new TryLimit(now, maxInAll);
  }

  /** True when no further try is allowed. Stays so until `clear`. */
  isExhausted(stepUp: StepUp): boolean {
    return this.#perOperation.isExhausted(operationOf(stepUp)) || this.#inAll.isExhausted(programOf(stepUp));
  }

  add(stepUp: StepUp): void {
    this.#perOperation.add(operationOf(stepUp));
    this.#inAll.add(programOf(stepUp));
  }

  /** The user acted at this endpoint. */
  clear(endpoint: string): void {
    for (const limit of [this.#perOperation, this.#inAll]) limit.clear(` ${endpoint} `);
  }
}

const programOf = ({ clientId, endpoint }: StepUp): string => `${clientId} ${endpoint} `;

const operationOf = (stepUp: StepUp): string => `${programOf(stepUp)}${stepUp.operation}`;
