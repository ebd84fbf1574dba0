/**
 * Work that several callers share: they wait together for one question, one sign-in or one refresh.
 *
 * Invariant: callers with the same key share one run. A caller that leaves ends only its own wait. If all callers of a
 * run were interrupted, the run is cancelled (unless `finishes`), and no caller joins it any more. If one of them only
 * ran out of time, the run goes on, so that a late answer still counts.
 */
import { untilAborted } from './abort.ts';
import { type KeyturnError, reasonOf } from './errors.ts';

interface Run<T> {
  readonly promise: Promise<T>;
  readonly cancel: AbortController;
  waiters: number;
  /** A caller ran out of time and may come back for the answer. */
  isKept: boolean;
}

/** `isAwaited` tells whether a caller still waits. `signal` aborts when the run is cancelled. */
export type Start<T> = (signal: AbortSignal, isAwaited: () => boolean) => Promise<T>;

export class SharedWork<T> {
  readonly #runs = new Map<string, Run<T>>();
  readonly #finishes: boolean;
  #ended: KeyturnError | undefined;

  /** `finishes`: a run goes on even when all its callers leave, as a refresh must. */
  constructor({ finishes = false }: { readonly finishes?: boolean } = {}) {
    this.#finishes = finishes;
  }

  /** Joins the run of `key`, or starts one. Rejects with the reason of `caller` when that aborts. */
  async join(key: string, start: Start<T>, caller: AbortSignal): Promise<T> {
    caller.throwIfAborted();
    if (this.#ended) throw this.#ended;
    const run = this.#runs.get(key) ?? this.#start(key, start);
    run.waiters += 1;
    return untilAborted(run.promise, caller, () => this.#leave(key, run, caller.reason));
  }

  /** True if a call would join a run. */
  has(key: string): boolean {
    return this.#runs.has(key);
  }

  /** True while a caller waits for the run. */
  isAwaited(key: string): boolean {
    return (this.#runs.get(key)?.waiters ?? 0) > 0;
  }

  /** Cancels every run with `reason` and refuses new ones with it. Resolves when those that ran have ended. */
  async end(reason: KeyturnError): Promise<void> {
    this.#ended = reason;
    const runs = [...this.#runs.values()];
    for (const { cancel } of runs) cancel.abort(reason);
    await Promise.allSettled(runs.map(({ promise }) => promise));
  }

  #start(key: string, start: Start<T>): Run<T> {
    const cancel = new AbortController();
    const promise = start(cancel.signal, () => run.waiters > 0).finally(() => this.#forget(key, run));
    // When it fails, perhaps no caller waits any more. Those that do get the rejection from `join`.
    promise.catch(() => undefined);
    const run: Run<T> = { promise, cancel, waiters: 0, isKept: false };
    this.#runs.set(key, run);
    return run;
  }

  #leave(key: string, run: Run<T>, reason: unknown): void {
    run.waiters -= 1;
    if (reasonOf(reason) !== 'interrupted') run.isKept = true;
    if (run.waiters > 0 || run.isKept || this.#finishes) return;
    this.#forget(key, run);
    run.cancel.abort(reason);
  }

  #forget(key: string, run: Run<T>): void {
    if (this.#runs.get(key) === run) this.#runs.delete(key);
  }
}
