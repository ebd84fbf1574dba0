/**
 * Tells a missing broker, which a start fixes, from one that can't be started.
 *
 * Invariant: loads nothing but the table of reasons and search.ts, so that the code that starts a broker and the code that only
 * asks one can import it.
 */
import { reasonOf, Unreachable } from '../../base/errors.ts';
import { isUnanswered } from '../../client/search.ts';

/** No broker could be started: another try would end the same way. */
export class NotStarted extends Unreachable {}

/** No socket, nobody listening, or no owner key yet: nothing that a start would not fix. */
export function isAbsent(error: unknown): boolean {
  return isUnanswered(error) || reasonOf(error) === 'unpaired';
}
