/**
 * Folders in which the person let a project file choose an account at a server.
 *
 * Invariants: a record counts for one folder (its path and its mark), one server and one account. A file that names
 * another account has no record. What is chosen here allows nothing: a permission has to name that account.
 */
import { z } from 'zod';
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { AuthorityStore } from '../../store/record-store.ts';

export const folderChoiceSchema = z.object({
  /** The canonical path; of a program that runs elsewhere `LABEL:PATH`. */
  folder: z.string(),
  /** Tells the folder from another one at that path. */
  mark: z.string(),
  /** Canonical endpoint. */
  endpoint: z.string(),
  account: z.string(),
  /** Milliseconds since the epoch. */
  confirmedAt: z.number(),
});

export type FolderChoice = z.infer<typeof folderChoiceSchema>;

/** Many more projects than a person works on. The oldest makes room: it would be asked about again. */
const maxFolders = 1000;

export class FolderChoices {
  readonly #file: AuthorityStore<FolderChoice>;

  constructor(file: AuthorityStore<FolderChoice>) {
    this.#file = file;
  }

  /** To list: verified or not. */
  shown(): readonly FolderChoice[] {
    return this.#file.shown;
  }

  has({ folder, mark, endpoint, account }: Omit<FolderChoice, 'confirmedAt'>): boolean {
    return this.#file.items.some(
      (one) =>
        one.folder === folder && one.mark === mark && one.endpoint === endpoint && one.account === account,
    );
  }

  /** The project file there is confirmed anew. Throws `not_found`. */
  async end(folder: string, endpoint: string): Promise<void> {
    await this.#file.change((items) => {
      const others = items.filter((one) => one.folder !== folder || one.endpoint !== endpoint);
      if (others.length < items.length) return others;
      throw new KeyturnError(
        'not_found',
        `No project file in ${quoted(folder)} may choose for ${endpoint}.`,
        {
          hint: '`keyturn clients` shows the folders, as they have to be written.',
        },
      );
    });
  }

  /** Takes the place of what was confirmed for that folder and server before. */
  async add(choice: FolderChoice): Promise<void> {
    await this.#file.change((items) => {
      const others = items.filter(
        ({ folder, endpoint }) => folder !== choice.folder || endpoint !== choice.endpoint,
      );
      return [...others, choice].slice(-maxFolders);
    });
  }
}
