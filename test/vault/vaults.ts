/** Vaults in temporary folders all are closed and removed after each test. */
import path from 'node:path';
import { afterEach } from 'vitest';
import { getIfAny, type Vault } from '../../src/vault/base/vault.ts';
import type { ItemStore } from '../../src/vault/base/item-store.ts';
import { ItemVault } from '../../src/vault/item-vault.ts';
import { keychainStore, type KeychainOptions } from '../../src/vault/keychain/keychain.ts';
import { besideKeychain } from '../../src/vault/sealed/beside-keychain.ts';
import { ItemFolder } from '../../src/vault/sealed/item-folder.ts';
import { PassphraseStore, type PassphraseOptions } from '../../src/vault/sealed/passphrase-store.ts';
import { fresh, type HomeOptions } from './doubles.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** The least work that a root file may ask for: 40 ms instead of a third of a second. */
export const cheap = { N: 2 ** 14, r: 8, p: 1 } as const;

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

export function vaultOver(store: ItemStore, options: Partial<HomeOptions> = {}): ItemVault {
  return closedLater(new ItemVault({ kind: 'keychain', store, ...fresh, ...options }));
}

/** The caller closes it. */
export function keychainVault(options: KeychainOptions, home: HomeOptions = fresh) {
  const store = keychainStore(options);
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
