/** Vaults in temporary folders and over a keychain in memory; all are closed and removed after each test. */
import path from 'node:path';
import { afterEach } from 'vitest';
import { getIfAny } from '../../src/vault/base/vault.ts';
import type { Vault } from '../../src/vault/base/vault.ts';
import { rootItem } from '../../src/vault/base/item-store.ts';
import type { ItemStore } from '../../src/vault/base/item-store.ts';
import { lockedVault } from '../../src/vault/base/trouble.ts';
import { ItemVault } from '../../src/vault/item-vault.ts';
import type { ItemVaultOptions } from '../../src/vault/item-vault.ts';
import { KeychainStore } from '../../src/vault/keychain/keychain.ts';
import type { KeychainOptions } from '../../src/vault/keychain/keychain.ts';
import { besideKeychain } from '../../src/vault/sealed/beside-keychain.ts';
import { ItemFolder } from '../../src/vault/sealed/item-folder.ts';
import { PassphraseStore } from '../../src/vault/sealed/passphrase-store.ts';
import type { PassphraseOptions } from '../../src/vault/sealed/passphrase-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** The least work that a root file may ask for: 40 ms instead of a third of a second. */
export const cheap = { N: 2 ** 14, r: 8, p: 1 } as const;

type HomeOptions = Pick<ItemVaultOptions, 'homeId' | 'hadRoot'>;

/** A home that never had a root key. */
export const fresh: HomeOptions = { homeId: 'home', hadRoot: async () => false };

const open: Vault[] = [];

afterEach(async () => {
  for (const vault of open.splice(0)) await vault.close();
});

/** Closed after the test. */
export function closedLater<T extends Vault>(vault: T): T {
  open.push(vault);
  return vault;
}

/** A folder's path, in a folder of its own; it isn't there yet. */
export function newPlace(): string {
  return path.join(temporaryFolder(), 'items');
}

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

export function vaultOver(store: ItemStore, options: Partial<HomeOptions> = {}): ItemVault {
  return closedLater(new ItemVault({ kind: 'keychain', store, ...fresh, ...options }));
}

/** The caller closes it. */
export function keychainVault(
  options: KeychainOptions,
  home: HomeOptions = fresh,
): ItemVault & { readonly store: KeychainStore } {
  const store = new KeychainStore(options);
  return Object.assign(new ItemVault({ kind: 'keychain', store, ...home }), { store });
}

/** A folder of sealed files; its root key is in `keychain`. */
export function sealedVault(folder: string, keychain: ItemStore): ItemVault {
  const store = besideKeychain(keychain, new ItemFolder(folder));
  return closedLater(new ItemVault({ kind: 'sealed-file', store, ...fresh }));
}

export type PassphraseVault = ItemVault & { readonly store: PassphraseStore };

/** A folder of sealed files under a passphrase. It begins locked. */
export function passphraseVault(folder: string, options: Partial<PassphraseOptions> = {}): PassphraseVault {
  const store = new PassphraseStore({ folder, cost: cheap, ...fresh, ...options });
  return closedLater(Object.assign(new ItemVault({ kind: 'sealed-file', store, ...fresh }), { store }));
}

/** What a vault says of a name: the value, "absent", or the reason of its refusal. */
export async function said(vault: Vault, name: string): Promise<string> {
  try {
    return (await getIfAny(vault, name)) ?? 'absent';
  } catch (error) {
    return error instanceof Error && 'reason' in error ? String(error.reason) : String(error);
  }
}
