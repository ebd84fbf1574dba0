/**
 * How long one request waits: until its time is over or its local client is gone, whichever is first.
 *
 * Invariant: the two endings differ. A client that left (`interrupted`) withdraws its question; one
 * that ran out of time leaves it open, so that a late answer still counts. Most requests find their token
 * in memory and wait for nothing: nothing is armed until somebody looks at the signal.
 */
import { KeyturnError } from './errors.ts';
import type { Clock } from './clock.ts';

export interface Patience {
  /** From the first look at it on. */
  readonly signal: AbortSignal;
  /** Stops the timer, where there is one. Call it when the request is answered. */
  end(): void;
}

/** `timeout` in milliseconds. */
export function patience(clock: Clock, timeout: number, caller: AbortSignal): Patience {
  let armed: Patience | undefined;
  return {
    get signal() {
      armed ??= arm(clock, timeout, caller);
      return armed.signal;
    },
    end() {
      armed ??= answered;
      armed.end();
    },
  };
}

/** What was answered without waiting waits for nothing afterwards. */
const answered: Patience = { signal: new AbortController().signal, end: () => undefined };

function arm(clock: Clock, timeout: number, caller: AbortSignal): Patience {
  const waiting = new AbortController();
  const over = new AbortController();
  const left = (): void =>
    waiting.abort(new KeyturnError('interrupted', 'The program that asked has gone away.'));
  if (caller.aborted) left();
  caller.addEventListener('abort', left, { once: true });
  clock.sleep(timeout, over.signal).then(
    () => waiting.abort(new TimeOver()),
    () => undefined,
  );
  return {
    signal: waiting.signal,
    end() {
      caller.removeEventListener('abort', left);
      over.abort();
    },
  };
}

/** The request's time is over. The broker says what was still pending. */
export class TimeOver extends Error {}
