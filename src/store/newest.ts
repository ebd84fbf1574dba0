/**
 * The vault's item `newest`: number and id of the newest document.
 *
 * Invariant: an item of an unknown shape is reported and left as it is.
 */
import { z } from 'zod';
import { VaultError } from '../vault/base/trouble.ts';
import type { Vault } from '../vault/base/vault.ts';
import type { Mark } from './document-text.ts';

/** The vault's item. */
export const newestItem = 'newest';

const schema = z.strictObject({ number: z.int().nonnegative(), id: z.string().min(1) });

/** Both methods throw the vault's errors. */
export interface Newest {
  /** Undefined only if the vault certainly has none. */
  read(): Promise<Mark | undefined>;
  write(mark: Mark): Promise<void>;
}

export function newestIn(vault: Pick<Vault, 'find' | 'write'>): Newest {
  return {
    read: async () => {
      const text = await vault.find(newestItem);
      return text === undefined ? undefined : markIn(text);
    },
    write: ({ number, id }) => vault.write(newestItem, JSON.stringify({ number, id })),
  };
}

function markIn(text: string): Mark {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new VaultError('damaged', `the vault's item "${newestItem}" has an unknown shape`, {
      item: newestItem,
      hint: 'It was left as it is. Restore the vault from a backup, or begin again: `keyturn reset`.',
    });
  }
}
