/**
 * How long one request waits: until its time is over or its local client is gone, whichever is first.
 *
 * Invariant: the two endings differ. A client that left (`interrupted`) withdraws its question; one
 * that ran out of time leaves it open, so that a late answer still counts.
 */
import { KeyturnError } from '../errors.ts';
import type { Clock } from './clock.ts';

export interface Patience {
  readonly signal: AbortSignal;
  /** Stops the timer. Call it when the request is answered. */
  end(): void;
}

/** `timeout` in milliseconds. */
export function patience(clock: Clock, timeout: number, caller: AbortSignal): Patience {
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
