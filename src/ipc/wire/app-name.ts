/**
 * The name that an app gives itself when it pairs: the same rule in the library, which makes a file of it, and on the wire.
 *
 * Invariant: an accepted name is shown exactly as it is, in a terminal, a window and a file's name.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';

const pattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const isAppName = (name: string): boolean => pattern.test(name);

/** Throws `invalid_request` for other characters. */
export function requireAppName(name: string): void {
  if (isAppName(name)) return;
  throw new KeyturnError('invalid_request', `${quoted(name)} can't be the name of an app`, {
    hint: 'Use up to 64 letters, digits, dots, dashes and underscores (A–Z a–z 0–9 . - _), beginning with a letter or digit.',
  });
}
