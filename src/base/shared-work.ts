/**
 * Work that several callers share: they wait together for one question, one sign-in or one refresh.
 *
 * Invariant: per key one run at a time. A caller that leaves ends only its own waiting. Where runs
 * can be withdrawn, one is cancelled when all its callers left by interruption, and goes on when one
 * merely ran out of time, so that an answer that comes late still counts. Nobody joins a cancelled run.
 */
import { untilAborted } from './abort.ts';
import { KeyturnError } from './errors.ts';

interface Run<T> {
  readonly promise: Promise<T>;
  readonly cancel: AbortController;
  waiters: number;
  /** Somebody ran out of time and may come back for the answer. */
  isKept: boolean;
}

/** `isAwaited` tells whether anybody still waits; `signal` aborts when the run is withdrawn. */
export type Start<T> = (signal: AbortSignal, isAwaited: () => boolean) => Promise<T>;

export class SharedWork<T> {
  readonly #runs = new Map<string, Run<T>>();
  readonly #finishes: boolean;
  #ended: KeyturnError | undefined;

  /** `finishes`: a run goes on even when all its callers leave, as a refresh must. */
  constructor({ finishes = false }: { readonly finishes?: boolean } = {}) {
    this.#finishes = finishes;
  }

  /** Joins the run of `key`, or starts it. Rejects with the caller's reason when it leaves. */
  async join(key: string, start: Start<T>, caller: AbortSignal): Promise<T> {
    caller.throwIfAborted();
    if (this.#ended) throw this.#ended;
    const run = this.#runs.get(key) ?? this.#start(key, start);
    run.waiters += 1;
    return untilAborted(run.promise, caller, () => this.#leave(key, run, caller.reason));
  }

  /** True where a run is there to be joined. */
  has(key: string): boolean {
    return this.#runs.has(key);
  }

  /** Withdraws every run with `reason`, and refuses new ones with it. Resolves when all have come to their end. */
  async end(reason: KeyturnError): Promise<void> {
    this.#ended = reason;
    const runs = [...this.#runs.values()];
    for (const { cancel } of runs) cancel.abort(reason);
    await Promise.allSettled(runs.map(({ promise }) => promise));
  }

  #start(key: string, start: Start<T>): Run<T> {
    const cancel = new AbortController();
    const promise = start(cancel.signal, () => run.waiters > 0).finally(() => this.#forget(key, run));
    // Nobody may be waiting any more when it fails; those who are get the rejection by themselves.
    promise.catch(() => undefined);
    const run: Run<T> = { promise, cancel, waiters: 0, isKept: false };
    this.#runs.set(key, run);
    return run;
  }

  #leave(key: string, run: Run<T>, reason: unknown): void {
    run.waiters -= 1;
    if (!isInterruption(reason)) run.isKept = true;
    if (run.waiters > 0 || run.isKept || this.#finishes) return;
    this.#forget(key, run);
    run.cancel.abort(reason);
  }

  #forget(key: string, run: Run<T>): void {
    if (this.#runs.get(key) === run) this.#runs.delete(key);
  }
}

function isInterruption(reason: unknown): boolean {
  return reason instanceof KeyturnError && reason.reason === 'interrupted';
}
