/**
 * The vault's item `grants`: which grants this home has, and a digest of the index's record for each grant that an
 * older version made.
 *
 * Invariants: the item is made from the index once, when a vault is first opened that certainly has neither the item
 * nor epochs of this version (authority-epochs.ts). From then on a grant's item without a binding counts only if the
 * index still has the record of that time. A grant is listed here before its tokens are in the vault, so that a line
 * missing in the index loses no tokens.
 */
import { z } from 'zod';
import { VaultError } from '../../vault/base/trouble.ts';
import type { Vault } from '../../vault/base/vault.ts';
import { isBeforeEpochs, recordsItem } from '../../store/authority-epochs.ts';
import { digestOf } from './grant-binding.ts';
import type { Grant, Grants } from '../records/grant.ts';
import { WriteQueue } from '../../store/record-store.ts';

/** The vault's item. */
export const rosterItem = 'grants';

const version = 1;

/**
 * By grant: the digest of its record when this item was made; empty for a grant that had a binding from its beginning.
 */
const schema = z.object({
  version: z.literal(version),
  grants: z.record(z.string().regex(/^[0-9a-f]{16}$/), z.string()),
});

export class GrantRoster {
  readonly #vault: Vault;
  readonly #grants: Grants;
  readonly #queue = new WriteQueue({ write: () => this.#write(), takeBack: () => this.#takeBack() });
  #known: ReadonlyMap<string, string> | undefined;
  #durable: ReadonlyMap<string, string> = new Map();
  #opening: Promise<void> | undefined;

  constructor(vault: Vault, grants: Grants) {
    this.#vault = vault;
    this.#grants = grants;
  }

  /**
   * Reads the item once, or makes it. Throws what the vault throws, and `file_unreadable` if it must be made and the
   * index can't be read.
   */
  async open(): Promise<void> {
    if (this.#known) return;
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    await this.#opening;
  }

  get isOpen(): boolean {
    return this.#known !== undefined;
  }

  /** Empty until it was opened. */
  get ids(): readonly string[] {
    return [...(this.#known?.keys() ?? [])];
  }

  /** True if the grant's record in the index still has the digest of that time; the grant may have ended since. */
  recognises(grant: Grant): boolean {
    const sealed = this.#known?.get(grant.id);
    if (sealed === undefined) return false;
    return (
      sealed === digestOf(grant) || (grant.state.kind === 'revoked' && sealed === digestOf(grant, false))
    );
  }

  /** The vault has the item when this resolves. Throws what the vault throws. */
  async add(id: string): Promise<void> {
    await this.open();
    if (this.#known?.has(id)) {
      // Another call's write of it may still be running.
      if (!this.#durable.has(id)) await this.#queue.written();
      return;
    }
    this.#known = new Map([...(this.#known ?? []), [id, '']]);
    await this.#queue.written();
  }

  async #open(): Promise<void> {
    const text = await this.#vault.find(rosterItem);
    if (text === undefined) {
      const sealed = new Map((await this.#toSeal()).map((grant) => [grant.id, digestOf(grant)]));
      await this.#store(sealed);
      this.#durable = sealed;
    } else this.#durable = parsed(this.#vault, text);
    this.#known = this.#durable;
  }

  /**
   * This version writes the item before the epochs. If there are epochs and no item, the item was lost, and is not made
   * from the index.
   */
  async #toSeal(): Promise<readonly Grant[]> {
    const isFirst = isBeforeEpochs(await this.#vault.find(recordsItem));
    return isFirst ? this.#grants.all() : [];
  }

  async #write(): Promise<void> {
    const known = this.#known ?? new Map<string, string>();
    await this.#store(known);
    this.#durable = known;
  }

  #takeBack(): void {
    this.#known = this.#durable;
  }

  async #store(known: ReadonlyMap<string, string>): Promise<void> {
    await this.#vault.write(rosterItem, JSON.stringify({ version, grants: Object.fromEntries(known) }));
  }
}

function parsed(vault: Vault, text: string): ReadonlyMap<string, string> {
  try {
    const found = schema.safeParse(JSON.parse(text));
    if (found.success) return new Map(Object.entries(found.data.grants));
  } catch {
    // The parser's error repeats a piece of the item.
  }
  throw new VaultError('damaged', `The ${vault.kind} item "${rosterItem}" has an unknown shape.`, {
    item: rosterItem,
    hint: 'Keyturn left it as it is. A newer Keyturn may have written it: use that one, or restore the vault from a backup.',
  });
}
