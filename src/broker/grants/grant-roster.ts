/**
 * The vault's item `grants`: which grants this home has, and what the index said of those that older versions made.
 *
 * Invariants: it is made of the index once, at the first opening of a vault that certainly has neither it nor
 * epochs of this version (authority-epochs.ts). From then on a grant's item without a binding counts only where the
 * index still says what it said then. A grant stands here before its tokens are in the vault, so that a line that is
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

/** By grant: what the index said of it when this was made; empty for a grant that was bound from its beginning. */
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

  /** Reads it once, or makes it. Throws what the vault throws, and `file_unreadable` where there is no index to make it of. */
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

  /** True where the index still says of the grant what it said when this was made; that it has ended since is fine. */
  recognises(grant: Grant): boolean {
    const sealed = this.#known?.get(grant.id);
    if (sealed === undefined) return false;
    return (
      sealed === digestOf(grant) || (grant.state.kind === 'revoked' && sealed === digestOf(grant, false))
    );
  }

  /** In the vault when it resolves. Throws what the vault throws. */
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

  /** This version writes the item before it writes epochs. So where there are epochs and no item, the item was lost: no index makes it anew. */
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
