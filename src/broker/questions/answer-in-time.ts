/**
 * The answer to a question on a card. A card that nobody answers in its time is put off.
 *
 * Invariant: when the answer is there, or nobody waits for it any more, the question is closed.
 */
import { untilAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { KeyturnError } from '../../base/errors.ts';
import { DeadlineExceeded, requestDeadline } from '../../base/request-deadline.ts';
import type { Decision } from './answer.ts';
import { questionTimeout } from './interaction.ts';
import type { Interactions } from './interaction.ts';
import type { Question } from './question.ts';

interface Asking {
  readonly clock: Clock;
  readonly interactions: Interactions;
}

/** Rejects as `Interactions.askWithTerms` does, and with `interrupted` where `signal` gives no reason of ours. */
export async function answerInTime(
  { clock, interactions }: Asking,
  question: Question,
  signal: AbortSignal,
): Promise<Decision> {
  const waiting = requestDeadline(clock, questionTimeout, signal);
  try {
    return await untilAborted(interactions.askWithTerms(question, waiting.signal), waiting.signal);
  } catch (error) {
    if (error instanceof DeadlineExceeded) return { verdict: 'later' };
    throw signal.reason instanceof KeyturnError ? signal.reason : error;
  } finally {
    waiting.end();
  }
}
