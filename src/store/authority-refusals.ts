/**
 * The errors for a file of authority that does not count.
 *
 * Invariant: each says what happened and what to do next, and that Keyturn left an existing file as it is.
 */
import type { KeyturnError } from '../base/errors.ts';
import { unreadableFile } from '../base/private-file.ts';

/** What the owner can do, with the newest copy of the file and without it. */
const nextSteps =
  'Put its newest copy back and start the broker again. If that is lost, `keyturn reset` ends this home’s grants and begins a new one.';

export function notGenuine(file: string): KeyturnError {
  return unreadableFile(
    file,
    'it is not as this Keyturn wrote it (its MAC is wrong)',
    `Something changed it, so it gives no access. Keyturn left it as it is. ${nextSteps}`,
  );
}

/** `found`: the epoch of the file. `known`: the file's epoch in the vault. */
export function notNewest(file: string, found: number, known: number): KeyturnError {
  return unreadableFile(
    file,
    `it is an older copy (epoch ${found}; the vault knows epoch ${known}), so you may have taken away since what it allows`,
    `Something put it back, so it gives no access. Keyturn left it as it is. ${nextSteps}`,
  );
}

/** `known`: the file's epoch in the vault. */
export function missing(file: string, known: number): KeyturnError {
  return unreadableFile(
    file,
    `it is gone, though the vault has recorded it (epoch ${known})`,
    `Without it Keyturn can't tell what you refused or ended, so it allows nothing. ${nextSteps}`,
  );
}
