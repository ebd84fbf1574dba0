/**
 * The bound on the step-ups that an app can cause.
 *
 * Invariant: after a few tries a failure is permanent until the user acts (MCP, Step-Up Authorization Flow: "retries
 * are bounded"). The count is per app, resource and operation, so that a loop in one app doesn't lock out another. A
 * second count covers all operations of an app at a resource, because the caller chooses the names of its operations.
 * The number of stored keys is bounded.
 */

/** At most 3 tries in 10 minutes (milliseconds). */
const maxTries = 3;
const within = 600_000;

/**
 * Enough for three operations: if one app needs nine step-ups in 10 minutes, the user can sign in for all of
 * their scopes at once.
 */
const maxInAll = 9;

/** Keys contain the caller's operation names, so they are bounded: more than a user can answer at sign-in pages. */
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
    // Move the key to the end: the key unused for longest is removed first.
    this.#tries.delete(key);
    this.#tries.set(key, [...recent, this.#now()]);
    const [oldest] = this.#tries.keys();
    if (this.#tries.size > maxKeys && oldest !== undefined) this.#tries.delete(oldest);
  }

  /** The user acted (signed in, allowed): resets the keys that begin with `start`. */
  clear(start: string): void {
    for (const key of this.#tries.keys()) if (key.startsWith(start)) this.#tries.delete(key);
  }
}

export interface StepUp {
  readonly appId: string;
  readonly endpoint: string;
  /** The app's name for it; '' if it gives none. The wire bounds its length. */
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
    return this.#perOperation.isExhausted(operationOf(stepUp)) || this.#inAll.isExhausted(appAt(stepUp));
  }

  add(stepUp: StepUp): void {
    this.#perOperation.add(operationOf(stepUp));
    this.#inAll.add(appAt(stepUp));
  }

  clear(endpoint: string): void {
    for (const limit of [this.#perOperation, this.#inAll]) limit.clear(`${endpoint} `);
  }
}

/** The endpoint first: it has no space, and an operation may name another one. */
const appAt = ({ appId, endpoint }: StepUp): string => `${endpoint} ${appId} `;

const operationOf = (stepUp: StepUp): string => `${appAt(stepUp)}${stepUp.operation}`;
