/**
 * No broker: what a start would mend, and what it would not.
 *
 * Invariant: loads nothing but the table of reasons, so that who starts a broker and who only asks one may both import it.
 */
import { reasonOf, Unreachable } from '../../base/errors.ts';

/** No broker could be started: another try would end the same way. */
export class NotStarted extends Unreachable {}

/** No socket, nobody listening, or no owner key yet: nothing that a start would not mend. */
export function isAbsent(error: unknown): boolean {
  return ['broker_unreachable', 'unpaired'].includes(reasonOf(error));
}
