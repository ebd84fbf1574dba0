/**
 * The vault's item `newest`: number and id of the newest document, and whether the next start begins paused.
 *
 * Invariant: an item of an unknown shape is reported and left as it is.
 */
import { z } from 'zod';
import { VaultError } from '../vault/base/trouble.ts';
import { getIfAny, newestItem } from '../vault/base/vault.ts';
import type { Vault } from '../vault/base/vault.ts';

const schema = z.strictObject({
  number: z.int().nonnegative(),
  id: z.string().min(1),
  /** Something was taken away that the file could not take. */
  held: z.literal(true).optional(),
});

export type Known = z.infer<typeof schema>;

/** Both methods throw the vault's errors, and resolve to what the vault has then: undefined only if that is certain. */
export interface Newest {
  read(): Promise<Known | undefined>;
  /** Writes only over what was last read or written here. */
  write(known: Known): Promise<Known | undefined>;
}

export function newestIn(vault: Pick<Vault, 'get' | 'replace'>): Newest {
  let last: string | undefined;
  const shown = (text: string | undefined): Known | undefined => {
    last = text;
    return text === undefined ? undefined : markIn(text);
  };
  return {
    read: async () => shown(await getIfAny(vault, newestItem)),
    write: async (known) => shown(await vault.replace(newestItem, last, JSON.stringify(known))),
  };
}

function markIn(text: string): Known {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new VaultError('damaged', `the vault's item "${newestItem}" has an unknown shape`, {
      item: newestItem,
      hint: 'It was left as it is. Restore the vault from a backup, or begin again: `keyturn reset`.',
    });
  }
}
