/**
 * Work that several callers wait for together: one question, one sign-in, whatever the number who need it.
 *
 * Invariant: per key one run at a time. A caller that leaves ends only its own waiting; the run is
 * cancelled when the last caller left by interruption, and goes on when one merely ran out of time,
 * so that an answer that comes late still counts.
 */
import { KeyturnError } from '../errors.ts';

interface Run<T> {
  readonly promise: Promise<T>;
  readonly cancel: AbortController;
  waiters: number;
}

export class SharedWork<T> {
  readonly #runs = new Map<string, Run<T>>();

  /** True while a run of this key is under way. */
  has(key: string): boolean {
    return this.#runs.has(key);
  }

  /** Joins the run of `key`, or starts it. Rejects with the caller's reason when it leaves. */
  async join(key: string, start: (signal: AbortSignal) => Promise<T>, caller: AbortSignal): Promise<T> {
    caller.throwIfAborted();
    const run = this.#runs.get(key) ?? this.#start(key, start);
    run.waiters += 1;
    const left = Promise.withResolvers<never>();
    const leave = (): void => {
      run.waiters -= 1;
      if (run.waiters === 0 && isInterruption(caller.reason)) run.cancel.abort(caller.reason);
      left.reject(caller.reason);
    };
    caller.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([run.promise, left.promise]);
    } finally {
      caller.removeEventListener('abort', leave);
    }
  }

  #start(key: string, start: (signal: AbortSignal) => Promise<T>): Run<T> {
    const cancel = new AbortController();
    const promise = start(cancel.signal).finally(() => this.#runs.delete(key));
    // Nobody may be waiting any more when it fails; those who are get the rejection by themselves.
    promise.catch(() => undefined);
    const run: Run<T> = { promise, cancel, waiters: 0 };
    this.#runs.set(key, run);
    return run;
  }
}

function isInterruption(reason: unknown): boolean {
  return reason instanceof KeyturnError && reason.reason === 'interrupted';
}
