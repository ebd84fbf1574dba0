/**
 * Opens sign-in pages one after another.
 *
 * Invariant (5, dev/internals.md): at most one automatic sign-in page is open. When the user is done with a page,
 * the next may open, even if the sign-in still waits for an answer. After a failed page, the next one for the same
 * endpoint waits until the user acts. After a page whose apps all disconnected, the next one waits for a pause,
 * which doubles with each such page. So an app can't open a hundred tabs by disconnecting.
 */
import { untilAborted } from '../../base/abort.ts';
import { KeyturnError, reasonOf } from '../../base/errors.ts';
import { RequestWaits } from '../consent/request-waits.ts';
import { pageWithdrawn } from '../refusals/refusals.ts';

/** An automatic page gave way to what the user did. Its request looks at the newer state. */
export class PageReplaced extends KeyturnError {
  constructor(endpoint: string) {
    super('conflict', `The automatic sign-in for ${endpoint} is no longer needed.`, {
      hint: 'Ask again: the newer state is used.',
    });
  }
}

export class PageQueue {
  /** By endpoint. */
  readonly #waits: RequestWaits;
  #tail: Promise<unknown> = Promise.resolve();
  readonly #failed = new Set<string>();
  readonly #queued = new Set<string>();

  constructor(now: () => number) {
    this.#waits = new RequestWaits(now);
  }

  /**
   * Runs `work` when no other automatic page is open; an aborted signal frees the place at once. `work` calls
   * `opened` when a page is open: only after that does a failure count against the endpoint, and only if it `blocks`.
   * `work` calls `closed` if it continues without the page. Throws `rate_limited` during a pause.
   */
  async run<T>(
    endpoint: string,
    signal: AbortSignal,
    work: (opened: () => void, closed: () => void) => Promise<T>,
    blocks: (error: unknown) => boolean = () => true,
  ): Promise<T> {
    let isOpened = false;
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const before = this.#tail;
    const turn = before.then(async () => {
      signal.throwIfAborted();
      this.refusePaused(endpoint);
      return work(() => (isOpened = true), close);
    });
    this.#tail = Promise.race([turn.catch(() => undefined), closed]);
    this.#queued.add(endpoint);
    await untilAborted(before, signal).finally(() => this.#queued.delete(endpoint));
    try {
      const done = await turn;
      this.#waits.end(endpoint);
      return done;
    } catch (error) {
      if (isOpened && blocks(error)) this.#pageFailed(endpoint, signal);
      throw error;
    }
  }

  #pageFailed(endpoint: string, signal: AbortSignal): void {
    if (!signal.aborted) this.#failed.add(endpoint);
    // The app disconnected. Any other reason comes from the broker (such as the user's own sign-in) and causes
    // no pause.
    else if (reasonOf(signal.reason) === 'interrupted') this.#waits.lengthen(endpoint);
  }

  /** Throws `rate_limited` during the pause after a withdrawn page. */
  refusePaused(endpoint: string): void {
    const retryAfter = this.#waits.left(endpoint);
    if (retryAfter > 0) throw pageWithdrawn(endpoint, retryAfter);
  }

  /** True while a page for this endpoint waits for another page to close. */
  isQueued(endpoint: string): boolean {
    return this.#queued.has(endpoint);
  }

  /** True when the last page for this endpoint failed and the user has not acted since. */
  needsUser(endpoint: string): boolean {
    return this.#failed.has(endpoint);
  }

  userActed(endpoint: string): void {
    this.#failed.delete(endpoint);
    this.#waits.end(endpoint);
  }
}
