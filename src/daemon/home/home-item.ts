/**
 * What the vault says of its home: one item, beside the secrets.
 *
 * Invariants: an item that can't be read, or that a newer Keyturn wrote, is reported and left as it is. The memory
 * vault keeps it as long as it keeps anything.
 */
import { z } from 'zod';
import { VaultError } from '../../vault/base/trouble.ts';
import { getIfAny } from '../../vault/base/vault.ts';
import type { Vault } from '../../vault/base/vault.ts';
import { confirmedSchema } from '../settings/confirmed-settings.ts';

/** The vault's item. */
export const homeItem = 'home';

const itemSchema = z.object({
  version: z.literal(1),
  /** The home that this vault belongs to. */
  homeId: z.string(),
  /**
   * `none`: no app ever opened this vault. `marked`: one did. `released`: the person gave the home free in its window.
   */
  desk: z.enum(['none', 'marked', 'released']),
  /** The settings that the person confirmed at a desk; absent: nobody was asked yet. */
  settings: confirmedSchema.optional(),
  /** What the person refused there: it is shown, and not asked again. */
  declined: confirmedSchema.optional(),
  /** What a headless broker last went by, outside a desk's home. */
  seen: confirmedSchema.optional(),
});

export type HomeItem = z.infer<typeof itemSchema>;

/** Undefined where the vault certainly has none. Throws what the vault throws. */
export async function readHomeItem(vault: Vault): Promise<HomeItem | undefined> {
  const text = await getIfAny(vault, homeItem);
  if (text === undefined) return undefined;
  const parsed = itemSchema.safeParse(json(text));
  if (parsed.success) return parsed.data;
  throw new VaultError('damaged', 'the vault\'s item "home" has an unknown shape', {
    item: homeItem,
    hint: 'A newer Keyturn may have written it. It was left as it is: restore the vault from a backup.',
  });
}

export async function writeHomeItem(vault: Vault, item: HomeItem): Promise<void> {
  await vault.set(homeItem, JSON.stringify(item));
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
