/**
 * Work that reads something and may be asked for at any time, such as looking at the newest state.
 *
 * Invariant: one run at a time, and each call is followed by a whole run. A call during a run leads to one more run,
 * however many calls there were.
 */
export class RepeatedWork {
  readonly #work: () => Promise<void>;
  #isAsked = false;
  #running: Promise<void> | undefined;

  /** `work` never rejects. */
  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Resolves when a run that began after this call has ended. */
  async run(): Promise<void> {
    this.#isAsked = true;
    this.#running ??= this.#runWhileAsked();
    return this.#running;
  }

  async #runWhileAsked(): Promise<void> {
    while (this.#isAsked) {
      this.#isAsked = false;
      await this.#work();
    }
    // In the same step as the last look at `#isAsked`: no call can come between and join a run that is over.
    this.#running = undefined;
  }
}
