/**
 * The vault's items that records of the document name: each has a random name that is never used again.
 *
 * Invariants: the document lists a name (unused-items.ts) before the vault has its item. An item is deleted only after
 * `newest` was read as ours, if no record names it, and if nothing in this broker is about to use it.
 */
import { mutex } from '../base/mutex.ts';
import type { Vault } from '../vault/base/vault.ts';
import type { HomeDocument } from './document.ts';
import type { RecordList } from './home-document.ts';
import { newItemName, type ItemKind, type UnusedItem } from './unused-items.ts';

export interface ItemParts {
  readonly document: Pick<HomeDocument, 'requireNewest' | 'itemNames'>;
  readonly unused: RecordList<UnusedItem>;
  readonly vault: Pick<Vault, 'get' | 'set' | 'delete'>;
}

export class VaultItems {
  readonly #parts: ItemParts;
  /** Names that a caller of `reserve` may still write. */
  readonly #reserved = new Set<string>();
  readonly #exclusive = mutex();

  constructor(parts: ItemParts) {
    this.#parts = parts;
  }

  /** Throws what the vault throws. */
  get(name: string): Promise<string> {
    return this.#parts.vault.get(name);
  }

  /** A new name. Call `release` when a record has it, or when it isn't needed. Throws as a change of the document. */
  async reserve(kind: ItemKind): Promise<string> {
    const name = newItemName(kind);
    this.#reserved.add(name);
    try {
      await this.#parts.unused.change((items) => [...items, { name }]);
      return name;
    } catch (error) {
      this.#reserved.delete(name);
      throw error;
    }
  }

  /** Nothing here writes the item any more. If no record names it, `tidy` deletes it. */
  release(name: string): void {
    this.#reserved.delete(name);
  }

  /** Stores `value` under a new name, which `use` puts into a record. Throws what `use` and the vault throw. */
  async keep<T>(kind: ItemKind, value: string, use: (name: string) => Promise<T>): Promise<T> {
    const name = await this.reserve(kind);
    try {
      await this.#parts.vault.set(name, value);
      return await use(name);
    } finally {
      this.release(name);
    }
  }

  /** Deletes the items that no record names, or keeps them in the list to delete later. Never rejects. */
  async tidy(): Promise<void> {
    await this.#exclusive(() => this.#deleteUnused()).catch(() => undefined);
  }

  async #deleteUnused(): Promise<void> {
    const { document, unused, vault } = this.#parts;
    const isFree = ({ name }: UnusedItem): boolean => !this.#reserved.has(name);
    const candidates = unused.items.filter(isFree);
    if (candidates.length === 0) return;
    await document.requireNewest();
    const named = document.itemNames;
    const gone = new Set<string>();
    try {
      for (const { name } of candidates) {
        if (!named.has(name)) await vault.delete(name);
        gone.add(name);
      }
    } finally {
      if (gone.size > 0) await unused.change((items) => items.filter(({ name }) => !gone.has(name)));
    }
  }
}
