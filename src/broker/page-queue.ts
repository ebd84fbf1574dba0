/**
 * Sign-in pages, one after another.
 *
 * Invariant (DESIGN 5): one automatic sign-in page in all. And after one that came to nothing the
 * next for the same endpoint waits for the user to act, so that no night ends with a hundred tabs.
 */
export class PageQueue {
  #tail: Promise<unknown> = Promise.resolve();
  readonly #failed = new Set<string>();

  /**
   * Runs `work` when no other automatic page is open; an aborted signal gives the place up. `work`
   * calls `opened` once a page is up: only from then on does a failure count against the key.
   */
  async run<T>(key: string, signal: AbortSignal, work: (opened: () => void) => Promise<T>): Promise<T> {
    let isOpened = false;
    const turn = this.#tail.then(async () => {
      signal.throwIfAborted();
      return work(() => (isOpened = true));
    });
    this.#tail = turn.catch(() => undefined);
    try {
      return await turn;
    } catch (error) {
      // Called off by the program that asked: the person refused nothing.
      if (isOpened && !signal.aborted) this.#failed.add(key);
      throw error;
    }
  }

  /** True when the last page for this key came to nothing and the user has not acted since. */
  needsUser(key: string): boolean {
    return this.#failed.has(key);
  }

  userActed(key: string): void {
    this.#failed.delete(key);
  }
}
