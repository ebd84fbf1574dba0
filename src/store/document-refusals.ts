/** Why a document is refused, and what a change says that could not be stored. */
import { KeyturnError, reasonOf } from '../base/errors.ts';
import { VaultError } from '../vault/base/trouble.ts';
import type { Mark } from './document-text.ts';
import { newestItem } from '../vault/base/vault.ts';

export interface DocumentComparison {
  readonly found: (Mark & { readonly after: readonly string[] }) | undefined;
  /** It names this home, and this home's key made its HMAC. */
  readonly isOurs: boolean;
  /** The newest document that the vault knows. */
  readonly known: Mark | undefined;
}

/** Undefined if the document is the newest one, or the successor of the one that the vault knows. */
export function refusalOf(
  file: string,
  { found, isOurs, known }: DocumentComparison,
): KeyturnError | undefined {
  if (!found) return known === undefined || known.number === 0 ? undefined : gone(file);
  if (!isOurs) return unreadable(file);
  if (known === undefined) return undefined;
  // A successor: a broker ended between its two writes. Once the vault has one successor, no other one is valid.
  if (found.id === known.id || found.after.includes(known.id)) return undefined;
  return older(file, found.number > known.number);
}

/** `isVaultBehind`: the file has the higher number, as after an older keychain was put back. */
export function older(file: string, isVaultBehind = false): KeyturnError {
  return new KeyturnError('file_unreadable', `${file} is not the newest one that your vault knows.`, {
    hint: isVaultBehind
      ? 'The vault is older than the file: put its newest state back, or begin again: `keyturn reset`.'
      : putBack,
  });
}

const putBack = 'Put the newest one back, or begin again: `keyturn reset`.';

function gone(file: string): KeyturnError {
  return new KeyturnError('file_unreadable', `${file} is gone, and your vault knows that there was one.`, {
    hint: putBack,
  });
}

/** `why`: the error that says more. */
export function unreadable(file: string, why?: unknown): KeyturnError {
  const more =
    why instanceof KeyturnError ? ` ${why.message.replace(`${file} can't be read`, 'What is wrong')}` : '';
  return new KeyturnError(
    'file_unreadable',
    `${file} can't be read, or Keyturn did not write it. Nothing was changed.${more}`,
    { hint: 'Restore it, or begin again: `keyturn reset`.' },
  );
}

/** There is a document, and the vault has no number. */
export function withoutNumber(): VaultError {
  return new VaultError('damaged', `the vault has no item "${newestItem}", though it wrote one`, {
    item: newestItem,
    hint: 'Check that the right keychain is open, or restore it. To begin again: `keyturn reset`.',
  });
}

const oneBroker = 'A home has one broker, and a copy of a home is not another home';

export function otherBroker(): VaultError {
  return new VaultError('damaged', 'another broker has changed this home in the meantime', {
    item: newestItem,
    rule: oneBroker,
    hint: 'End the broker that runs on a copy of this home, then start this one again.',
  });
}

export function isOtherBroker(error: unknown): error is VaultError {
  return error instanceof VaultError && error.rule === oneBroker;
}

/** What takes away could not be stored. */
export function notStored(error: unknown): unknown {
  if (!(error instanceof KeyturnError)) return error;
  return new KeyturnError(reasonOf(error), `This holds until the broker ends: ${error.message}`, {
    hint: error.hint ?? 'See `keyturn status`, then do it again.',
    cause: error,
  });
}

export interface FileTrouble {
  readonly file: string;
  /** A sentence. Text from the file is quoted. */
  readonly why: string;
  /** What the user can do. */
  readonly hint?: string;
}

/** The trouble of a file or an item that failed with `error`. */
export function troubleWith(file: string, { message, hint }: KeyturnError): FileTrouble {
  return { file, why: message, hint };
}
