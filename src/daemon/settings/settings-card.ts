/**
 * The card about settings that were written outside Keyturn: one at a time, and the wait until its answer counts.
 *
 * Invariant: a request that comes between the person's answer and its effect waits for the effect.
 */
import type { Difference } from './confirmed-settings.ts';

/** `later`: nobody answered, or the person put it off. */
export type SettingsVerdict = 'yes' | 'no' | 'later';

/** Asks the person on one card; calls `answered`, then writes the answer into the audit log. Never rejects. */
export type AskAboutSettings = (
  different: readonly Difference[],
  answered: () => void,
) => Promise<SettingsVerdict>;

export class SettingsCard {
  readonly #ask: AskAboutSettings;
  readonly #closed: () => void;
  #open: Promise<void> | undefined;
  #taking: Promise<void> | undefined;

  /** `closed` is called each time that a card is gone. */
  constructor(ask: AskAboutSettings, closed: () => void) {
    this.#ask = ask;
    this.#closed = closed;
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Resolves once an answer that the person gave counts; undefined where none is on its way. */
  get taking(): Promise<void> | undefined {
    return this.#taking;
  }

  /** Shows a card, unless one is open. `take` makes a yes or a no count. */
  show(different: readonly Difference[], take: (verdict: 'yes' | 'no') => Promise<void>): void {
    this.#open ??= this.#askAndTake(different, take).finally(() => {
      this.#open = undefined;
      this.#closed();
    });
  }

  async #askAndTake(
    different: readonly Difference[],
    take: (verdict: 'yes' | 'no') => Promise<void>,
  ): Promise<void> {
    const taken = Promise.withResolvers<void>();
    try {
      const verdict = await this.#ask(different, () => {
        this.#taking = taken.promise;
      });
      if (verdict !== 'later') await take(verdict);
    } finally {
      this.#taking = undefined;
      taken.resolve();
    }
  }
}
