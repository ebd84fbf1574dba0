/** A keychain in memory, and vaults that can be changed; for processes without a test around them, too. */
import { rootItem, type ItemStore } from '../../src/vault/base/item-store.ts';
import { lockedVault } from '../../src/vault/base/trouble.ts';
import type { Vault } from '../../src/vault/base/vault.ts';
import type { ItemVaultOptions } from '../../src/vault/item-vault.ts';

export type HomeOptions = Pick<ItemVaultOptions, 'homeId' | 'hadRoot'>;

/** A home that never had a root key. */
export const fresh: HomeOptions = { homeId: 'home', hadRoot: async () => false };

/** The same vault with methods of its own, so that a double can be spread from it. */
export function bound(vault: Vault): Vault {
  return {
    kind: vault.kind,
    get: (name) => vault.get(name),
    set: (name, value) => vault.set(name, value),
    replace: (name, before, after) => vault.replace(name, before, after),
    delete: (name) => vault.delete(name),
    root: () => vault.root(),
    destroy: (names) => vault.destroy(names),
    close: () => vault.close(),
  };
}

/** A keychain that outlives its vaults. While it is locked it shows nothing, stores nothing, and "deletes" at once. */
export interface Keychain extends ItemStore {
  readonly items: Map<string, string>;
  isLocked: boolean;
  /** Every change, in order: `set NAME`, `delete NAME`. */
  readonly changes: string[];
}

export function memoryKeychain(): Keychain {
  const items = new Map<string, string>();
  const changes: string[] = [];
  const refuseLocked = (): void => {
    if (keychain.isLocked) throw lockedVault();
  };
  const keychain: Keychain = {
    items,
    changes,
    isLocked: false,
    get: async (name) => (keychain.isLocked ? undefined : items.get(name)),
    async set(name, value) {
      refuseLocked();
      changes.push(`set ${name}`);
      return items.set(name, value).get(name);
    },
    async replace(name, before, value) {
      const shown = await keychain.get(name);
      return shown === before ? keychain.set(name, value) : shown;
    },
    async delete(name) {
      if (keychain.isLocked) return undefined;
      changes.push(`delete ${name}`);
      items.delete(name);
      return undefined;
    },
    async createRoot(root) {
      await keychain.prove();
      return items.get(rootItem) ?? keychain.set(rootItem, root);
    },
    prove: async () => refuseLocked(),
    async destroy(names) {
      refuseLocked();
      for (const name of [rootItem, ...names]) items.delete(name);
    },
    close: async () => undefined,
  };
  return keychain;
}
