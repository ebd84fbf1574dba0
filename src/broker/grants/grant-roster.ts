/**
 * The vault's item `grants`: which grants this home has.
 *
 * Invariant: a grant is listed here before its tokens are in the vault, so that a line missing in the index loses no
 * tokens.
 */
import { z } from 'zod';
import { VaultError } from '../../vault/base/trouble.ts';
import { getIfAny } from '../../vault/base/vault.ts';
import type { Vault } from '../../vault/base/vault.ts';
import { WriteQueue } from '../../store/record-store.ts';

/** The vault's item. */
export const rosterItem = 'grants';

const version = 1;

const schema = z.object({
  version: z.literal(version),
  grants: z.array(z.string().regex(/^[0-9a-f]{16}$/)),
});

export class GrantRoster {
  readonly #vault: Vault;
  readonly #queue = new WriteQueue({ write: () => this.#write(), takeBack: () => this.#takeBack() });
  #known: ReadonlySet<string> | undefined;
  #durable: ReadonlySet<string> = new Set();
  #opening: Promise<void> | undefined;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  /** Reads the item once. Throws what the vault throws. */
  async open(): Promise<void> {
    if (this.#known) return;
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    await this.#opening;
  }

  /** Empty until it was opened. */
  get ids(): readonly string[] {
    return [...(this.#known ?? [])];
  }

  /** The vault has the item when this resolves. Throws what the vault throws. */
  async add(id: string): Promise<void> {
    await this.open();
    if (this.#known?.has(id)) {
      // Another call's write of it may still be running.
      if (!this.#durable.has(id)) await this.#queue.written();
      return;
    }
    this.#known = new Set([...this.ids, id]);
    await this.#queue.written();
  }

  async #open(): Promise<void> {
    const text = await getIfAny(this.#vault, rosterItem);
    if (text !== undefined) this.#durable = parsed(this.#vault, text);
    this.#known = this.#durable;
  }

  async #write(): Promise<void> {
    const known = new Set(this.ids);
    await this.#vault.set(rosterItem, JSON.stringify({ version, grants: [...known] }));
    this.#durable = known;
  }

  #takeBack(): void {
    this.#known = this.#durable;
  }
}

function parsed(vault: Vault, text: string): ReadonlySet<string> {
  try {
    const found = schema.safeParse(JSON.parse(text));
    if (found.success) return new Set(found.data.grants);
  } catch {
    // The parser's error repeats a piece of the item.
  }
  throw new VaultError('damaged', `The ${vault.kind} item "${rosterItem}" has an unknown shape.`, {
    item: rosterItem,
    hint: 'Keyturn left it as it is. A newer Keyturn may have written it: use that one, or restore the vault from a backup.',
  });
}
