/**
 * A vault over a store of items: it checks names and values, seals each value with a key of the root, checks that the
 * store shows what it wrote, and decides what it means that the store shows no item.
 *
 * A locked keyring shows an item that it holds as absent. So that answer proves nothing by itself:
 *
 *   the item doesn't show, `root` shows before and after    `missing`
 *   neither shows                                           `locked`
 *   another root key shows                                  `damaged`: it is another keychain
 *
 * No such answer is ever stored, and nothing is deleted because of one.
 * Invariants: operations on one name run one after another. `root` is set once in the life of a home, and only if the
 * home never had one. Once the vault is locked, only the item `newest` can be read and replaced, so that what the user
 * takes away is recorded.
 */
import { randomBytes, type KeyObject } from 'node:crypto';
import { quoted } from '../base/errors.ts';
import { keyedMutex } from '../base/mutex.ts';
import { derivedKey, rootItem, rootKeyFrom, type ItemStore } from './base/item-store.ts';
import { seal, unseal } from './base/sealed-item.ts';
import { lockedVault, MissingItem, VaultError } from './base/trouble.ts';
import { checkName, checkValue, closedVault, newestItem, type Vault, type VaultKind } from './base/vault.ts';

export interface ItemVaultOptions {
  readonly kind: VaultKind;
  readonly store: ItemStore;
  /** Every item is bound to it. */
  readonly homeId: string;
  /** True once this home had a root key. Throws if that can't be known. */
  readonly hadRoot: () => Promise<boolean>;
}

interface Keys {
  readonly root: KeyObject;
  readonly items: KeyObject;
}

export class ItemVault implements Vault {
  readonly kind: VaultKind;
  readonly #options: ItemVaultOptions;
  readonly #store: ItemStore;
  readonly #exclusive = keyedMutex();
  #keys: Keys | undefined;
  #loading: Promise<Keys> | undefined;
  /** It stays while the vault is locked. */
  #newestKey: KeyObject | undefined;
  #isLocked = false;
  #isClosed = false;

  constructor(options: ItemVaultOptions) {
    this.kind = options.kind;
    this.#options = options;
    this.#store = options.store;
  }

  async get(name: string): Promise<string> {
    checkName(name);
    const key = await this.#keyFor(name);
    return this.#exclusive(name, async () => {
      const text = await this.#look(name);
      if (text === undefined) throw new MissingItem(name);
      return this.#opened(key, name, text);
    });
  }

  async set(name: string, value: string): Promise<void> {
    checkName(name);
    checkValue(value);
    const key = await this.#keyFor(name);
    await this.#exclusive(name, async () => {
      const text = seal(key, this.#place(name), value);
      if ((await this.#store.set(name, text)) !== text) throw notShown(name);
    });
  }

  async replace(name: string, before: string | undefined, after: string): Promise<string | undefined> {
    checkName(name);
    checkValue(after);
    const key = await this.#keyFor(name);
    return this.#exclusive(name, async () => {
      const shown = await this.#look(name);
      const found = shown === undefined ? undefined : this.#opened(key, name, shown);
      if (found !== before) return found;
      const text = seal(key, this.#place(name), after);
      const kept = await this.#store.replace(name, shown, text);
      if (kept === undefined) throw notShown(name);
      return kept === text ? after : this.#opened(key, name, kept);
    });
  }

  async delete(name: string): Promise<void> {
    checkName(name);
    await this.#keyFor(name);
    await this.#exclusive(name, async () => {
      // Twice: a keyring that is unlocked before the root key is read has deleted nothing the first time.
      for (let n = 0; n < 2; n++) {
        if ((await this.#store.delete(name)) !== undefined)
          throw new VaultError('damaged', `the vault still holds ${quoted(name)} after its deletion`, {
            item: name,
            hint: 'Check that your keyring is unlocked, and try again.',
          });
        await this.#seeRoot();
      }
    });
  }

  async root(): Promise<KeyObject> {
    return (await this.#open()).root;
  }

  /** Opens the store again, which may ask a user. */
  async unlock(): Promise<void> {
    this.#checkOpen();
    if ((await this.#store.get(rootItem)) === undefined) {
      await this.#store.prove();
      await this.#exclusive(rootItem, () => this.#findOrMakeRoot());
    }
    this.#isLocked = false;
  }

  /** Forgets the root key and all that follows from it, but for the key of `newest`. Ends with `unlock`. */
  lock(): void {
    this.#isLocked = true;
    this.#keys = undefined;
  }

  async destroy(names: readonly string[]): Promise<void> {
    names.forEach(checkName);
    this.#end();
    try {
      await this.#store.destroy(names);
    } finally {
      await this.#store.close();
    }
  }

  async close(): Promise<void> {
    this.#end();
    await this.#store.close();
  }

  #end(): void {
    this.#isClosed = true;
    this.#keys = undefined;
    this.#newestKey = undefined;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw closedVault();
  }

  #place(name: string): { homeId: string; name: string } {
    return { homeId: this.#options.homeId, name };
  }

  async #keyFor(name: string): Promise<KeyObject> {
    this.#checkOpen();
    if (name !== newestItem) return (await this.#open()).items;
    if (!this.#newestKey) await this.#open();
    if (!this.#newestKey) throw lockedVault();
    return this.#newestKey;
  }

  async #open(): Promise<Keys> {
    this.#checkOpen();
    if (this.#isLocked) throw lockedVault();
    if (this.#keys) return this.#keys;
    this.#loading ??= this.#loadKeys().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #loadKeys(): Promise<Keys> {
    const root = rootKeyFrom(await this.#exclusive(rootItem, () => this.#findOrMakeRoot()));
    this.#checkOpen();
    if (this.#isLocked) throw lockedVault();
    this.#keys = { root, items: derivedKey(root, 'items') };
    this.#newestKey = derivedKey(root, newestItem);
    return this.#keys;
  }

  /** Undefined only if the store certainly has no such item. */
  async #look(name: string): Promise<string | undefined> {
    const first = await this.#store.get(name);
    if (first !== undefined) return first;
    await this.#seeRoot();
    const second = await this.#store.get(name);
    if (second === undefined) await this.#seeRoot();
    return second;
  }

  async #seeRoot(): Promise<void> {
    const shown = await this.#store.get(rootItem);
    if (shown === undefined) throw rootNotShown();
    const key = derivedKey(rootKeyFrom(shown), newestItem);
    if (this.#newestKey && !key.equals(this.#newestKey))
      throw new VaultError('damaged', 'the keychain shows the root key of another home', {
        item: rootItem,
        hint: 'Open the keychain that this home was used with, then restart: keyturn broker restart',
      });
  }

  async #findOrMakeRoot(): Promise<string> {
    const shown = await this.#store.get(rootItem);
    if (shown !== undefined) return shown;
    // A keychain that isn't this home's gets none of our items.
    if (await this.#options.hadRoot()) throw rootNotShown();
    const root = await this.#store.createRoot(randomBytes(32).toString('base64url'));
    if (root === undefined) throw rootNotShown();
    return root;
  }

  #opened(key: KeyObject, name: string, text: string): string {
    const value = unseal(key, this.#place(name), text);
    if (value !== undefined) return value;
    throw new VaultError(
      'damaged',
      `the vault's item ${quoted(name)} can't be read, or Keyturn did not write it`,
      {
        item: name,
        rule: 'vault: an item opens only in its home and under its name',
        hint: 'Nothing was changed. Restore it from a backup, or sign in again.',
      },
    );
  }
}

function notShown(name: string): VaultError {
  return new VaultError('damaged', `the vault accepted ${quoted(name)} but doesn't return it`, {
    item: name,
    rule: 'vault: a value is stored only when it was read back',
    hint: 'Check that your keyring is unlocked and not full.',
  });
}

function rootNotShown(): VaultError {
  return new VaultError('keychainLocked', 'your vault is locked: it shows nothing of this home', {
    rule: 'vault: what a keychain does not show may be locked, and never counts as absent',
    hint: 'Unlock it with: keyturn unlock. If this keychain is new, put the old one back, or begin again: keyturn reset',
  });
}
