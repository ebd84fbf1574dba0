/**
 * Sign-in pages, one after another.
 *
 * Invariant (DESIGN 5): one automatic sign-in page in all. And after one that came to nothing the
 * next for the same endpoint waits for the user to act, so that no night ends with a hundred tabs.
 */
export class PageQueue {
  #tail: Promise<unknown> = Promise.resolve();
  readonly #failed = new Set<string>();
  readonly #queued = new Set<string>();

  /**
   * Runs `work` when no other automatic page is open; an aborted signal gives the place up at once.
   * `work` calls `opened` once a page is up: only from then on does a failure count against the endpoint.
   */
  async run<T>(endpoint: string, signal: AbortSignal, work: (opened: () => void) => Promise<T>): Promise<T> {
    let isOpened = false;
    const before = this.#tail;
    const turn = before.then(async () => {
      signal.throwIfAborted();
      return work(() => (isOpened = true));
    });
    this.#tail = turn.catch(() => undefined);
    this.#queued.add(endpoint);
    await patientWith(before, signal).finally(() => this.#queued.delete(endpoint));
    try {
      return await turn;
    } catch (error) {
      // Called off by the program that asked: the person refused nothing.
      if (isOpened && !signal.aborted) this.#failed.add(endpoint);
      throw error;
    }
  }

  /** True while a page for this endpoint waits for another one to be done with. */
  isQueued(endpoint: string): boolean {
    return this.#queued.has(endpoint);
  }

  /** True when the last page for this endpoint came to nothing and the user has not acted since. */
  needsUser(endpoint: string): boolean {
    return this.#failed.has(endpoint);
  }

  userActed(endpoint: string): void {
    this.#failed.delete(endpoint);
  }
}

/** Waits for the pages before; rejects with the signal's reason when it aborts first. */
async function patientWith(before: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const left = Promise.withResolvers<never>();
  const leave = (): void => left.reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    await Promise.race([before, left.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
