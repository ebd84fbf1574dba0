/**
 * The interface of every store of records, and the queue of its writes.
 *
 * Invariants: a change is in memory at once and in one step, so that a denial counts immediately and no writer
 * overwrites the change of another. One write runs at a time, always of the newest state. A change is complete when
 * it is on the disk. If a write fails, memory goes back to the state of the disk, and every lost change is rejected.
 */
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

/** Records in memory, after `load`: reading them does no I/O. */
export interface RecordStore<Item> {
  /** The records that count. Throws `file_unreadable` if the store has none. */
  readonly items: readonly Item[];
  /** True once the file was read or found absent. */
  readonly isLoaded: boolean;
  readonly trouble: FileTrouble | undefined;
  /** Reads the file once; after a failure each call tries again. Throws `file_unreadable`. */
  load(): Promise<void>;
}

/** One list of the document: its records decide only once the document was verified. */
export interface AuthorityStore<Item> extends RecordStore<Item> {
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

export interface WriteSteps {
  /** Writes the state as it is when this is called. */
  write(): Promise<void>;
  /** Puts memory back into the state of the disk. */
  takeBack(): void;
}

/** Runs one write after another. All changes that come during a write share the next one. */
export class WriteQueue {
  readonly #steps: WriteSteps;
  #waiting: PromiseWithResolvers<void>[] = [];
  #isWriting = false;

  constructor(steps: WriteSteps) {
    this.#steps = steps;
  }

  /**
   * Call it after a change in memory. Resolves once the change is on the disk; rejects if the change was taken back.
   */
  async written(): Promise<void> {
    const mine = Promise.withResolvers<void>();
    this.#waiting.push(mine);
    if (!this.#isWriting) void this.#run();
    await mine.promise;
  }

  async #run(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const sharing = this.#waiting;
      this.#waiting = [];
      try {
        await this.#steps.write();
        for (const { resolve } of sharing) resolve();
      } catch (error) {
        // The changes that came during the write are based on the lost one.
        const lost = [...sharing, ...this.#waiting];
        this.#waiting = [];
        this.#steps.takeBack();
        for (const { reject } of lost) reject(error);
      }
    }
    this.#isWriting = false;
  }
}
