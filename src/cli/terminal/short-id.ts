/**
 * Ids that a user types in part.
 *
 * Invariant: a beginning stands for an id only where no other id begins so.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';

/** Characters: what a user copies by eye. */
const minLength = 4;

/** The id that `text` is or begins; `text` itself where it is no beginning of any. Throws `conflict`. */
export function wholeId(text: string, ids: readonly string[]): string {
  if (text.length < minLength || ids.includes(text)) return text;
  const meant = ids.filter((id) => id.startsWith(text));
  if (meant.length > 1) {
    throw new KeyturnError(
      'conflict',
      `${meant.length} ids begin with ${quoted(text)}: ${meant.join(', ')}.`,
      {
        hint: 'Type more of it.',
      },
    );
  }
  return meant[0] ?? text;
}
