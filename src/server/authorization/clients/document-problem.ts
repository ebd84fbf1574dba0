/** What is said of a client's metadata document that can't be used. */
import { KeyturnError } from '../../../base/errors.ts';

/** `problem`: the end of a sentence. */
export function documentProblem(problem: string): KeyturnError {
  return new KeyturnError(
    'registration_failed',
    `The client’s metadata document can’t be used: ${problem}.`,
    {
      rule: 'A client ID metadata document has the required fields and comes as JSON',
    },
  );
}
