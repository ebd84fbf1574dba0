/**
 * The card about settings that were written outside Keyturn: one for all of them, and the wait until its answer has an
 * effect.
 *
 * Invariants: only an explicit approval counts. If nobody answers in time, or the question can't be asked, nothing is
 * approved. A request that comes between the answer and its effect waits for the effect. The audit log names the
 * settings and not their values: a proxy's URL may hold a password.
 */
import { RequestDeadline } from '../../base/request-deadline.ts';
import type { BrokerParts } from '../../broker/parts.ts';
import type { Answer } from '../../broker/approval-requests/answer.ts';
import { questionTimeout } from '../../broker/approval-requests/approval-requests.ts';
import type { AllowedGroup, WrittenSetting } from '../../broker/approval-requests/question.ts';
import type { Difference } from './approved-settings.ts';
import { withoutPassword } from './settings-book.ts';

export interface SettingsQuestion {
  readonly different: readonly Difference[];
  /** At the app's first use: what the home allows. */
  readonly allowed: readonly AllowedGroup[];
}

/**
 * Asks the user on one card; calls `answered`, then writes the answer into the audit log. `dismiss`: there was no answer,
 * too. Never rejects.
 */
export type AskAboutSettings = (asked: SettingsQuestion, answered: () => void) => Promise<Answer>;

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

  /** Resolves once the user's answer has taken effect; undefined if none is on its way. */
  get taking(): Promise<void> | undefined {
    return this.#taking;
  }

  /** Shows a card, unless one is open. `take` carries out an approval or a denial. */
  show(asked: SettingsQuestion, take: (verdict: 'approve' | 'deny') => Promise<void>): void {
    this.#open ??= this.#askAndTake(asked, take).finally(() => {
      this.#open = undefined;
      this.#closed();
    });
  }

  async #askAndTake(
    asked: SettingsQuestion,
    take: (verdict: 'approve' | 'deny') => Promise<void>,
  ): Promise<void> {
    const taken = Promise.withResolvers<void>();
    try {
      const verdict = await this.#ask(asked, () => {
        this.#taking = taken.promise;
      });
      if (verdict !== 'dismiss') await take(verdict);
    } finally {
      this.#taking = undefined;
      taken.resolve();
    }
  }
}

/** Never rejects. `over`: the broker stops. `answered` is called at the answer, before it is written down. */
export async function askAboutSettings(
  { approvalRequests, audit, clock }: Pick<BrokerParts, 'approvalRequests' | 'audit' | 'clock'>,
  { different, allowed }: SettingsQuestion,
  over: AbortSignal,
  answered: () => void = () => undefined,
): Promise<Answer> {
  const waiting = new RequestDeadline(clock, questionTimeout, over);
  try {
    const { verdict: answer } = await approvalRequests.ask(
      { kind: 'settings', settings: shown(different), allowed },
      waiting.signal,
    );
    answered();
    const verdict = answer === 'approve' || answer === 'deny' ? answer : 'dismiss';
    const names = [...different.map(({ name }) => name), ...allowed.map(({ what }) => what)].join(', ');
    await audit.record({ event: 'settings', outcome: `written by others: ${verdict}: ${names}` });
    return verdict;
  } catch {
    // Too many questions, the broker stops, time is over, or nobody could write it down.
    return 'dismiss';
  } finally {
    waiting.end();
  }
}

export function shown(different: readonly Difference[]): WrittenSetting[] {
  return different.map(({ name, value, inEffect, isContent }) => ({
    name,
    value: withoutPassword(value),
    inEffect: withoutPassword(inEffect),
    isContent,
  }));
}
