/**
 * A list in the vault itself: the ids of all API keys, or of all registrations, whose secrets the vault may hold.
 *
 * Invariant: an id is listed before its secret is in the vault, and until after the secret is gone. So a broker that is
 * killed between two writes leaves no secret that nothing names.
 */
import { z } from 'zod';
import { VaultError } from '../../vault/base/trouble.ts';
import { getIfAny } from '../../vault/base/vault.ts';
import type { Vault } from '../../vault/base/vault.ts';

/** The vault's items with such a list. */
export const keyRosterItem = 'keys';
export const registrationRosterItem = 'registrations';

const version = 1;

const schema = z.object({
  version: z.literal(version),
  ids: z.array(z.string().regex(/^[0-9a-f]{16}$/)),
});

export class VaultRoster {
  readonly #vault: Vault;
  readonly #item: string;

  constructor(vault: Vault, item: string) {
    this.#vault = vault;
    this.#item = item;
  }

  /**
   * Undefined: no version that keeps the list has written a secret here. Throws what the vault throws, and
   * `vault_unreadable`.
   */
  async ids(): Promise<readonly string[] | undefined> {
    const text = await getIfAny(this.#vault, this.#item);
    return text === undefined ? undefined : idsIn(this.#vault, this.#item, text);
  }

  /** The vault has all of these when this resolves. One at a time. Throws as `ids`. */
  async add(ids: readonly string[]): Promise<void> {
    const listed = await this.ids();
    const missing = ids.filter((id) => !listed?.includes(id));
    if (missing.length > 0) await this.#write([...(listed ?? []), ...missing]);
  }

  /** One at a time. Throws as `ids`. */
  async drop(ids: readonly string[]): Promise<void> {
    const listed = (await this.ids()) ?? [];
    await this.#write(listed.filter((id) => !ids.includes(id)));
  }

  async #write(ids: readonly string[]): Promise<void> {
    await this.#vault.set(this.#item, JSON.stringify({ version, ids }));
  }
}

function idsIn(vault: Vault, item: string, text: string): readonly string[] {
  try {
    const found = schema.safeParse(JSON.parse(text));
    if (found.success) return found.data.ids;
  } catch {
    // The parser's error repeats a piece of the item.
  }
  throw new VaultError('damaged', `The ${vault.kind} item "${item}" has an unknown shape.`, {
    item,
    hint: 'Keyturn left it as it is. A newer Keyturn may have written it: use that one, or restore the vault from a backup.',
  });
}

/** What a home's end has to remove. `isWhole`: it is certain that there are no others. */
export interface KnownIds {
  readonly ids: readonly string[];
  readonly isWhole: boolean;
}

/** `named`: the ids in the records. `isNamedWhole`: the records could be read. */
export async function knownIds(
  roster: VaultRoster,
  named: readonly string[],
  isNamedWhole: boolean,
): Promise<KnownIds> {
  try {
    const listed = await roster.ids();
    return {
      ids: [...new Set([...(listed ?? []), ...named])],
      isWhole: listed !== undefined || isNamedWhole,
    };
  } catch {
    // A list that can't be read may name secrets that no record has: it isn't the same as no list.
    return { ids: named, isWhole: false };
  }
}
