/** A clock that stands still until a test advances it; only that ends a wait. */
import type { Clock } from '../../src/base/clock.ts';

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

export class HandClock implements Clock {
  /** The machine's time at the start: certificates and ID tokens are checked against it. */
  #now = Date.now();
  #slept = 0;
  #set = 0;
  readonly #sleepers = new Set<Sleeper>();

  now(): number {
    return this.#now;
  }

  /** How many wait. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  wall(): number {
    return this.#now + this.#set;
  }

  awake(): number {
    return this.#now - this.#slept;
  }

  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper = { until: this.awake() + milliseconds, wake: resolve };
    this.#sleepers.add(sleeper);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    await promise.finally(() => this.#sleepers.delete(sleeper));
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
    for (const sleeper of this.#sleepers) if (sleeper.until <= this.awake()) sleeper.wake();
  }

  /** The machine sleeps: time passes, and timers stand still. */
  suspend(milliseconds: number): void {
    this.#slept += milliseconds;
    this.#now += milliseconds;
  }

  /** Somebody sets the wall clock by so much, forward or back. */
  setWall(by: number): void {
    this.#set += by;
  }
}
