/**
 * The vault's item `keys`: the ids of all API keys whose values the vault may hold.
 *
 * Invariant: an id is listed here before its value is in the vault, and until after the value is gone. So a broker
 * that is killed between two writes leaves no value that nothing names.
 */
import { z } from 'zod';
import { VaultError } from '../../vault/base/trouble.ts';
import type { Vault } from '../../vault/base/vault.ts';

/** The vault's item. */
export const keyRosterItem = 'keys';

const version = 1;

const schema = z.object({
  version: z.literal(version),
  ids: z.array(z.string().regex(/^[0-9a-f]{16}$/)),
});

export class KeyRoster {
  readonly #vault: Vault;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  /**
   * Undefined: no version that keeps the list has set a key here. Throws what the vault throws, and `vault_unreadable`.
   */
  async ids(): Promise<readonly string[] | undefined> {
    const text = await this.#vault.find(keyRosterItem);
    return text === undefined ? undefined : idsIn(this.#vault, text);
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
    await this.#vault.write(keyRosterItem, JSON.stringify({ version, ids }));
  }
}

function idsIn(vault: Vault, text: string): readonly string[] {
  try {
    const found = schema.safeParse(JSON.parse(text));
    if (found.success) return found.data.ids;
  } catch {
    // The parser's error repeats a piece of the item.
  }
  throw new VaultError('damaged', `The ${vault.kind} item "${keyRosterItem}" has an unknown shape.`, {
    item: keyRosterItem,
    hint: 'Keyturn left it as it is. A newer Keyturn may have written it: use that one, or restore the vault from a backup.',
  });
}
