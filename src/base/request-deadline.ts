/**
 * The deadline of one request: its signal aborts when the time is over or when the app is gone.
 *
 * Invariant: the two ends differ. If the app left (`interrupted`), its question is withdrawn. If the time ran out,
 * the question stays open, so that a late answer still counts. The timer starts when the signal is first read,
 * because most requests find their token in memory and never wait.
 */
import { KeyturnError } from './errors.ts';
import type { Clock } from './clock.ts';

/** `timeout` in milliseconds. A class, because each request makes one: an object of functions takes longer to make. */
export class RequestDeadline {
  readonly #clock: Clock;
  readonly #timeout: number;
  readonly #caller: AbortSignal;
  #waiting: AbortController | undefined;
  #over: AbortController | undefined;

  constructor(clock: Clock, timeout: number, caller: AbortSignal) {
    this.#clock = clock;
    this.#timeout = timeout;
    this.#caller = caller;
  }

  /** Reading it starts the timer. */
  get signal(): AbortSignal {
    return (this.#waiting ??= this.#arm()).signal;
  }

  /** Stops the timer if there is one. Call it when the request is answered. */
  end(): void {
    this.#waiting ??= answered;
    this.#over?.abort();
  }

  #arm(): AbortController {
    const [waiting, over] = [new AbortController(), new AbortController()];
    const left = (): void =>
      waiting.abort(new KeyturnError('interrupted', 'The program that asked has gone away.'));
    if (this.#caller.aborted) left();
    this.#caller.addEventListener('abort', left, { once: true, signal: over.signal });
    this.#clock.sleep(this.#timeout, over.signal).then(
      () => waiting.abort(new DeadlineExceeded()),
      () => undefined,
    );
    this.#over = over;
    return waiting;
  }
}

/** Of a request that was answered before anything read the signal. */
const answered = new AbortController();

/** The request's time is over. The broker's answer says what was still pending. */
export class DeadlineExceeded extends Error {}
