/**
 * What every store of records offers, and how its writes are queued.
 *
 * Invariants: memory changes at once and in one step, so that a denial counts from that moment and two
 * writers can't both win. One write runs at a time, always of the newest state, and a change counts as
 * done when it is on the disk. A write that fails takes memory back to what the disk has, and
 * rejects every change that is lost.
 */
import type { KeyturnError } from '../base/errors.ts';

/** Why a file counts for nothing. */
export interface FileTrouble {
  readonly file: string;
  /** A sentence; holds no text of the file but quoted. */
  readonly why: string;
  /** What the person can do. */
  readonly hint?: string;
}

/** What is shown of a store that failed with `error`. */
export function troubleWith(file: string, error: KeyturnError): FileTrouble {
  const { message, hint } = error;
  return { file, why: message, ...(hint === undefined ? {} : { hint }) };
}

/** Records that were loaded before: reading them does no I/O. */
export interface RecordStore<Item> {
  /** The records that count. Throws `file_unreadable` if the store has none. */
  readonly items: readonly Item[];
  /** True once there are records to show: read, or found absent. */
  readonly isLoaded: boolean;
  readonly trouble: FileTrouble | undefined;
  /** Reads once; a file that failed is tried anew at each call. Throws `file_unreadable`. */
  load(): Promise<void>;
}

/** Records that confer authority: they count only once they were verified. */
export interface AuthorityStore<Item> extends RecordStore<Item> {
  /** As read, verified or not: to list, never to act upon. Throws `file_unreadable`. */
  readonly shown: readonly Item[];
  /**
   * Before the records confer anything: resolves once these, and all others of the home, were verified or
   * found to be in trouble, which `items` then throws. Costs nothing from then on. Throws what the vault throws.
   */
  verify(): Promise<void>;
  /**
   * Replaces what counts by what `edit` makes of it; on the disk when it resolves, and where it narrows, in
   * the vault too. `edit` runs once, on the newest records. Throws what it throws, what the vault throws,
   * and `file_unreadable`; then nothing has changed. One exception: where the vault fails and then the disk
   * too, the change stands, and the next change or start writes it into the vault.
   */
  change(edit: (items: readonly Item[]) => readonly Item[]): Promise<void>;
}

export interface WriteSteps {
  /** Writes the state as it is when this is called. */
  write(): Promise<void>;
  /** Takes memory back to what the disk has. */
  takeBack(): void;
}

/** Lets writes follow one another; those who come meanwhile share the next one. */
export class WriteQueue {
  readonly #steps: WriteSteps;
  #waiting: PromiseWithResolvers<void>[] = [];
  #isWriting = false;

  constructor(steps: WriteSteps) {
    this.#steps = steps;
  }

  /** Memory has changed: resolves once that is on the disk, rejects once it was taken back. */
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
        // Changes that came since then are based on the lost one.
        const lost = [...sharing, ...this.#waiting];
        this.#waiting = [];
        this.#steps.takeBack();
        for (const { reject } of lost) reject(error);
      }
    }
    this.#isWriting = false;
  }
}
