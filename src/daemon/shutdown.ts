/**
 * The end of a daemon, in two steps: requests under way are finished first, then the home is given up.
 *
 * Invariant: a request that comes after the first step began is refused with `broker_stopping`. The home's
 * lock is free only when every rotated token is in the vault, or the vault has refused it for ten seconds, and nothing
 * more is written. A step that fails is noted and the next one is taken: an end that began comes to its end.
 */
import { untilAborted } from '../base/abort.ts';
import type { Broker } from '../broker/broker.ts';
import { firstEndpoint } from '../broker/records/sign-in.ts';
import { brokerStopping } from '../broker/refusals/refusals.ts';
import { quoted, reasonOf, shellWord } from '../base/errors.ts';
import type { After } from '../ipc/wire/timer.ts';
import type { WriteLog } from './system/log.ts';

export interface ShutdownParts {
  readonly broker: Broker;
  readonly closeSocket: () => Promise<void>;
  /** Stops what works by itself: what it began is finished, nothing new begins. */
  readonly stopTimers: () => void;
  readonly close: () => Promise<unknown>;
  readonly unlock: () => void;
  readonly log: WriteLog;
  readonly after: After;
}

/** Milliseconds in which a vault in trouble may still take the newest tokens, and between two tries. */
const saveTimeout = 10_000;
const saveAgain = 500;

/** Milliseconds for requests that are neither a refresh nor a sign-in, e.g. a revocation at a slow server. */
const requestTimeout = 5000;

export class Shutdown {
  readonly #parts: ShutdownParts;
  readonly #running = new Set<Promise<unknown>>();
  readonly #stopped = Promise.withResolvers<void>();
  /** Removes the files of a home that was reset. */
  removeFiles = (): void => undefined;
  #drained: Promise<void> | undefined;
  #finished: Promise<void> | undefined;

  constructor(parts: ShutdownParts) {
    this.#parts = parts;
  }

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

  /** Resolves when rotated tokens are in the vault and requests have their answers, or their time is over. */
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
    await this.#step('the newest tokens', () => this.#save());
  }

  /** Closes the socket and gives the home up. */
  async finish(): Promise<void> {
    this.#finished ??= this.#finish();
    await this.#finished;
  }

  async #finish(): Promise<void> {
    await this.drain();
    const { broker, closeSocket, close, unlock, log } = this.#parts;
    const { audit, refresher } = broker.parts;
    await this.#step('the socket', closeSocket);
    await this.#step('the last rows of the audit log', () => audit.flush());
    // A request that was too late for the first step may have set off one more.
    await this.#step('the last refreshes', () => refresher.settled());
    await this.#step('vault and network', close);
    log('stopped');
    await this.#step('the files', async () => this.removeFiles());
    await this.#step('the home’s lock', async () => unlock());
    this.#stopped.resolve();
  }

  /** Waits for tokens that the vault has refused so far, and says which ones it did not take. */
  async #save(): Promise<void> {
    const { after, log, broker } = this.#parts;
    const { refresher } = broker.parts;
    const late = new AbortController();
    const cancel = after(saveTimeout, () => late.abort());
    let refused = await refresher.settled();
    while (refused.length > 0 && !late.signal.aborted) {
      await new Promise<void>((resolve) => void after(saveAgain, resolve));
      refused = await untilAborted(refresher.settled(), late.signal).catch(() => refused);
    }
    cancel();
    for (const holder of refused) {
      const endpoint = firstEndpoint(holder);
      const what = `the vault did not take the newest token for ${quoted(endpoint)}, which is lost`;
      log(`${what}. Sign in again: keyturn login ${shellWord(endpoint)}`, 'error');
    }
  }

  async #step(what: string, end: () => Promise<unknown>): Promise<void> {
    try {
      await end();
    } catch (error) {
      this.#parts.log(`${what} could not be brought to an end: ${reasonOf(error)}`, 'error');
    }
  }
}
