/**
 * Locks the vault when no app and no command has asked for anything for a while.
 *
 * Invariant: time is the clock's, looked at on a coarse tick, so that hours of sleep count as soon as the
 * machine wakes.
 */
import type { Clock } from '../../base/clock.ts';

/** Milliseconds. A timer stands still while the machine sleeps: after waking it is late by this much at most. */
const tick = 15_000;

export interface IdleLockParts {
  readonly clock: Clock;
  /** Milliseconds without a request. */
  readonly after: number;
  /** Does nothing if it is locked already. Must not reject. */
  readonly lock: () => Promise<void>;
}

export class IdleLock {
  readonly #parts: IdleLockParts;
  readonly #stopped = new AbortController();
  #lastUse: number;

  constructor(parts: IdleLockParts) {
    this.#parts = parts;
    this.#lastUse = parts.clock.now();
  }

  /** An app or a command asked for something. */
  touch(): void {
    this.#lastUse = this.#parts.clock.now();
  }

  /** Resolves when it was stopped. */
  async run(): Promise<void> {
    const { clock, lock } = this.#parts;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const left = this.#left();
      if (left <= 0) await lock();
      await clock.sleep(left > 0 ? Math.min(left, tick) : tick, signal).catch(() => undefined);
    }
  }

  /** Locks where it is time, between two ticks. */
  async look(): Promise<void> {
    if (this.#left() <= 0) await this.#parts.lock();
  }

  /** Milliseconds. */
  #left(): number {
    return this.#lastUse + this.#parts.after - this.#parts.clock.now();
  }

  stop(): void {
    this.#stopped.abort();
  }
}
