/**
 * Why a file of authority counts for nothing, in words for the person.
 *
 * Invariant: each says what happened, that the file was left as it is, and what to do next.
 */
import type { KeyturnError } from '../base/errors.ts';
import { unreadableFile } from '../base/private-file.ts';

/** The ways on where the newest copy of a file is lost. */
const waysOn =
  'Put its newest copy back and start the broker again. If that is lost, `keyturn reset` ends this home’s grants and begins a new one.';

export function notGenuine(file: string): KeyturnError {
  return unreadableFile(
    file,
    'it is not as this Keyturn wrote it (its MAC is wrong)',
    `Something changed it, so it gives no access. Keyturn left it as it is. ${waysOn}`,
  );
}

/** `found` and `known`: how often the file was narrowed, by the file itself and by the vault. */
export function notNewest(file: string, found: number, known: number): KeyturnError {
  return unreadableFile(
    file,
    `it is an older copy (epoch ${found}; the vault knows epoch ${known}), so you may have taken away since what it allows`,
    `Something put it back, so it gives no access. Keyturn left it as it is. ${waysOn}`,
  );
}

/** `known`: how often the file was narrowed, by the vault. */
export function missing(file: string, known: number): KeyturnError {
  return unreadableFile(
    file,
    `it is gone, though the vault has recorded it (epoch ${known})`,
    `Without it Keyturn can't tell what you refused or ended, so it allows nothing. ${waysOn}`,
  );
}
