/** What the lists of the document offer, and the trouble of a file. */
import type { KeyturnError } from '../base/errors.ts';

/** The reason why a file does not count. */
export interface FileTrouble {
  readonly file: string;
  /** A sentence. Text from the file is quoted. */
  readonly why: string;
  /** What the owner can do. */
  readonly hint?: string;
}

/** The trouble of a store that failed with `error`. */
export function troubleWith(file: string, error: KeyturnError): FileTrouble {
  const { message, hint } = error;
  return { file, why: message, hint };
}

/** One list of the document, in memory: reading it does no I/O. Its records decide only once the document was verified. */
export interface AuthorityStore<Item> {
  /** The records in force. Throws `file_unreadable` if the list has none. */
  readonly items: readonly Item[];
  /** True once the file was read or found absent. */
  readonly isLoaded: boolean;
  /** The records as read, verified or not. Only for lists; nothing may act upon them. Throws `file_unreadable`. */
  readonly shown: readonly Item[];
  /**
   * Call it before using `items`. Resolves once the document was verified or is refused, which `items` then throws.
   * Later calls return at once. Throws the vault's errors.
   */
  verify(): Promise<void>;
  /**
   * Replaces the records by the result of `edit`, which must have no effect beside its result: it may run again on newer
   * records. What takes away takes effect at once, what gives when it is stored. Resolves when the change is on the disk.
   * Throws the errors of `edit` and of the vault, and `file_unreadable`; nothing has changed then, but what takes away
   * holds until the broker ends.
   */
  change(edit: (items: readonly Item[]) => readonly Item[]): Promise<void>;
}
