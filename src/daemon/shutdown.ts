/**
 * The end of a daemon, in two steps: requests under way are finished first, then the home is given up.
 *
 * Invariant: a request that comes after the first step began is refused with `broker_stopping`. The home's
 * lock is free only when every rotated token is in the vault and nothing more is written. A step that fails
 * is noted and the next one is taken: an end that began comes to its end.
 */
import type { Broker } from '../broker/broker.ts';
import { brokerStopping } from '../broker/refusals/refusals.ts';
import { reasonOf } from '../base/errors.ts';
import type { BrokerServer } from '../ipc/server/server.ts';
import type { After } from '../ipc/wire/timer.ts';
import type { WriteLog } from './system/log.ts';

export interface ShutdownParts {
  readonly broker: Broker;
  readonly server: () => BrokerServer | undefined;
  /** Stops what works by itself: what it began is finished, nothing new begins. */
  readonly stopTimers: () => void;
  /** Vault and network. */
  readonly close: () => Promise<unknown>;
  readonly unlock: () => void;
  readonly log: WriteLog;
  readonly after: After;
}

/** Milliseconds for requests that are neither a refresh nor a sign-in, e.g. a revocation at a slow server. */
const requestTimeout = 5000;

export class Shutdown {
  readonly #parts: ShutdownParts;
  readonly #running = new Set<Promise<unknown>>();
  readonly #stopped = Promise.withResolvers<void>();
  #drained: Promise<void> | undefined;
  #finished: Promise<void> | undefined;

  constructor(parts: ShutdownParts) {
    this.#parts = parts;
  }

  /** Resolves when the home is given up. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  /** Runs a request, unless the end has begun. Throws `broker_stopping`. */
  run(request: () => unknown): unknown {
    if (this.#drained) throw brokerStopping();
    const running = request();
    // What is answered already needn't be waited for.
    if (!(running instanceof Promise)) return running;
    this.#running.add(running);
    return running.finally(() => this.#running.delete(running));
  }

  /** Resolves when every rotated token is in the vault, and every request that waited has its answer. */
  async drain(): Promise<void> {
    this.#drained ??= this.#drain();
    await this.#drained;
  }

  async #drain(): Promise<void> {
    this.#parts.log('stopping: refreshes are finished first');
    const { stopTimers, broker } = this.#parts;
    await this.#step('what works by itself', async () => stopTimers());
    await this.#step('questions and refreshes', () => broker.end());
    const late = Promise.withResolvers<void>();
    const cancel = this.#parts.after(requestTimeout, late.resolve);
    await Promise.race([Promise.allSettled(this.#running), late.promise]);
    cancel();
  }

  /** Closes the socket and gives the home up. */
  async finish(): Promise<void> {
    this.#finished ??= this.#finish();
    await this.#finished;
  }

  async #finish(): Promise<void> {
    await this.drain();
    const { broker, server, close, unlock, log } = this.#parts;
    const { audit, refresher } = broker.parts;
    await this.#step('the socket', async () => server()?.close());
    await this.#step('the last rows of the audit log', () => audit.flush());
    // A request that was too late for the first step may have set off one more.
    await this.#step('the last refreshes', () => refresher.settled());
    await this.#step('vault and network', close);
    log('stopped');
    await this.#step('the home’s lock', async () => unlock());
    this.#stopped.resolve();
  }

  async #step(what: string, end: () => Promise<unknown>): Promise<void> {
    try {
      await end();
    } catch (error) {
      this.#parts.log(`${what} could not be brought to an end: ${reasonOf(error)}`, 'error');
    }
  }
}
