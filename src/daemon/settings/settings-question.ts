/**
 * The card about settings that were written outside Keyturn: one for all of them.
 *
 * Invariant: only an explicit yes confirms. Where nobody answers in time, or the question can't be asked, nothing is
 * confirmed. The audit log names the settings and not their values: a proxy's URL may hold a password.
 */
import type { BrokerParts } from '../../broker/parts.ts';
import { questionTimeout } from '../../broker/questions/interaction.ts';
import { requestDeadline } from '../../base/request-deadline.ts';
import type { WrittenSetting } from '../../broker/questions/question.ts';
import type { Difference } from './confirmed-settings.ts';
import type { SettingsVerdict } from './settings-card.ts';
import { withoutPassword } from './settings-book.ts';

type QuestionParts = Pick<BrokerParts, 'interactions' | 'audit' | 'clock'>;

/** Never rejects. `over`: the broker stops. `answered` is called at the answer, before it is written down. */
export async function askAboutSettings(
  { interactions, audit, clock }: QuestionParts,
  different: readonly Difference[],
  over: AbortSignal,
  answered: () => void = () => undefined,
): Promise<SettingsVerdict> {
  const waiting = requestDeadline(clock, questionTimeout, over);
  try {
    const answer = await interactions.ask({ kind: 'settings', settings: shown(different) }, waiting.signal);
    answered();
    const verdict = answer === 'yes' || answer === 'no' ? answer : 'later';
    const names = different.map(({ name }) => name).join(', ');
    await audit.record({ event: 'settings', outcome: `written by others: ${verdict}: ${names}` });
    return verdict;
  } catch {
    // Too many questions, the broker stops, time is over, or nobody could write it down.
    return 'later';
  } finally {
    waiting.end();
  }
}

/** As they may be shown. */
export function shown(different: readonly Difference[]): WrittenSetting[] {
  return different.map(({ name, value, held, isContent }) => ({
    name,
    ...(value === undefined ? {} : { value: withoutPassword(value) }),
    ...(held === undefined ? {} : { held: withoutPassword(held) }),
    ...(isContent === undefined ? {} : { isContent }),
  }));
}
