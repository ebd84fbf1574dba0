/**
 * The deadline of one request: its signal aborts when the time is over or when the app is gone.
 *
 * Invariant: the two ends differ. If the client left (`interrupted`), its question is withdrawn. If the time ran out,
 * the question stays open, so that a late answer still counts. The timer starts when the signal is first read,
 * because most requests find their token in memory and never wait.
 */
import { KeyturnError } from './errors.ts';
import type { Clock } from './clock.ts';

export interface RequestDeadline {
  /** Reading it starts the timer. */
  readonly signal: AbortSignal;
  /** Stops the timer if there is one. Call it when the request is answered. */
  end(): void;
}

/** `timeout` in milliseconds. */
export function requestDeadline(clock: Clock, timeout: number, caller: AbortSignal): RequestDeadline {
  return new LazyDeadline(clock, timeout, caller);
}

/** A class, because each request makes one: an object with functions of its own takes longer to make. */
class LazyDeadline implements RequestDeadline {
  readonly #clock: Clock;
  readonly #timeout: number;
  readonly #caller: AbortSignal;
  #armed: RequestDeadline | undefined;

  constructor(clock: Clock, timeout: number, caller: AbortSignal) {
    this.#clock = clock;
    this.#timeout = timeout;
    this.#caller = caller;
  }

  get signal(): AbortSignal {
    this.#armed ??= arm(this.#clock, this.#timeout, this.#caller);
    return this.#armed.signal;
  }

  end(): void {
    this.#armed ??= answered;
    this.#armed.end();
  }
}

/** Of a request that was answered before anything read the signal. */
const answered: RequestDeadline = { signal: new AbortController().signal, end: () => undefined };

function arm(clock: Clock, timeout: number, caller: AbortSignal): RequestDeadline {
  const waiting = new AbortController();
  const over = new AbortController();
  const left = (): void =>
    waiting.abort(new KeyturnError('interrupted', 'The program that asked has gone away.'));
  if (caller.aborted) left();
  caller.addEventListener('abort', left, { once: true });
  clock.sleep(timeout, over.signal).then(
    () => waiting.abort(new DeadlineExceeded()),
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

/** The request's time is over. The broker's answer says what was still pending. */
export class DeadlineExceeded extends Error {}
