/**
 * Work that reads the newest state and may be asked for at any time.
 *
 * Invariant: there is one run at a time, and a whole run follows each call. All calls during a run share one further
 * run.
 */
export class RepeatedWork {
  readonly #work: () => Promise<void>;
  #isAsked = false;
  #running: Promise<void> | undefined;

  /** `work` never rejects. */
  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Resolves after a run that began after this call, and after those that calls in the meantime asked for. */
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
    // In the same step as the last check of `#isAsked`, so that no call can join a run that is over.
    this.#running = undefined;
  }
}
