/**
 * The notes of each account, where the data of `keyturn dev-server` lies.
 *
 * Invariant: an account sees its own notes only. They live as long as the process, and are bounded: this is a trial, not
 * a store.
 */

/** Characters of one note. */
export const maxNoteLength = 1000;

/** Of one account; the oldest ones go. */
const maxNotes = 100;

/** One account's notes. */
export interface Notes {
  readonly account: string;
  list(): Promise<readonly string[]>;
  /** Answers all of them. */
  add(note: string): Promise<readonly string[]>;
}

export function keptNotes(): (account: string) => Notes {
  const kept = new Map<string, readonly string[]>();
  return (account) => ({
    account,
    list: async () => kept.get(account) ?? [],
    async add(note) {
      const notes = [...(kept.get(account) ?? []), note].slice(-maxNotes);
      kept.set(account, notes);
      return notes;
    },
  });
}
