/**
 * Opens a home's vault, with the functions that lock and unlock it.
 *
 * Invariant: the caller gets the kind that it asked for, or an error, and never another kind instead.
 */
import { KeyturnError } from '../base/errors.ts';
import type { Vault, VaultKind } from './base/vault.ts';
import { ItemVault } from './item-vault.ts';
import { keychainStore, type KeychainOptions } from './keychain/keychain.ts';
import { memoryVault } from './memory.ts';
import { besideKeychain } from './sealed/beside-keychain.ts';
import { ItemFolder } from './sealed/item-folder.ts';
import { PassphraseStore } from './sealed/passphrase-store.ts';

export interface OpenOptions extends KeychainOptions {
  readonly homeId: string;
  /** True once this home had a root key. Throws if that can't be known. */
  readonly hadRoot: () => Promise<boolean>;
  /** For a `sealed-file`. `folder`: absolute path, e.g. `items` in the state folder. `key`: where the root key is. */
  readonly sealed: { readonly folder: string; readonly key: 'passphrase' | 'keychain' };
}

/** A vault, and the user's commands for it. Put a VaultGuard in front: `lock` waits for no call. */
export interface LockableVault {
  readonly vault: Vault;
  /** True if the vault begins locked and only a passphrase opens it. */
  readonly hasPassphrase: boolean;
  /** Throws unless the keychain that this vault needs is there. Stores nothing, and opens no prompt. */
  look(): Promise<void>;
  /** True if nobody has chosen a passphrase: the next `unlock` sets it. Throws `vault_unreadable`. */
  isNew(): Promise<boolean>;
  /**
   * `timeout`: milliseconds for the user to answer the keychain's question. Throws `locked` for a wrong passphrase
   * (the caller makes the user wait longer after each), `invalid_request` for a missing one, `vault_unreadable`,
   * `vault_unavailable`. A vault that was open stays open then.
   */
  unlock(timeout: number, passphrase?: string): Promise<void>;
  /** Forgets the keys that the vault holds. */
  lock(): Promise<void>;
  /** Throws `invalid_request` if the vault has no passphrase, `locked` while it is locked; else as `unlock`. */
  changePassphrase(current: string, next: string): Promise<void>;
}

/** A vault of this kind. Reads no file and no keychain yet. A `sealed-file` with a passphrase begins locked. */
export function openVault(kind: VaultKind, options: OpenOptions): LockableVault {
  if (kind === 'memory') return openMemory();
  if (kind === 'keychain') return openKeychain(options);
  const { folder, key } = options.sealed;
  return key === 'keychain' ? openKeychain(options, folder) : withPassphrase(options, folder);
}

const withoutPassphrase = {
  hasPassphrase: false,
  look: () => Promise.resolve(),
  isNew: () => Promise.resolve(false),
  changePassphrase: () =>
    Promise.reject(
      new KeyturnError('invalid_request', 'this vault has no passphrase', {
        hint: 'Only a sealed-file vault with vaultKey "passphrase" has one; see docs/reference/settings.md.',
      }),
    ),
} as const;

/** `folder`: of all items but those that the keychain keeps (beside-keychain.ts). */
function openKeychain(options: OpenOptions, folder?: string): LockableVault {
  const keychain = keychainStore(options);
  const vault =
    folder === undefined
      ? new ItemVault({ ...options, kind: 'keychain', store: keychain })
      : new ItemVault({
          ...options,
          kind: 'sealed-file',
          store: besideKeychain(keychain, new ItemFolder(folder)),
        });
  return {
    ...withoutPassphrase,
    vault,
    look: keychain.look,
    unlock: (timeout) => keychain.withTimeout(timeout, () => vault.unlock()),
    lock: async () => vault.lock(),
  };
}

function openMemory(): LockableVault {
  const vault = memoryVault();
  return { ...withoutPassphrase, vault, unlock: () => vault.unlock(), lock: async () => vault.lock() };
}

function withPassphrase({ homeId, hadRoot }: OpenOptions, folder: string): LockableVault {
  const store = new PassphraseStore({ folder, homeId, hadRoot });
  const vault = new ItemVault({ kind: 'sealed-file', store, homeId, hadRoot });
  return {
    vault,
    hasPassphrase: true,
    look: () => Promise.resolve(),
    isNew: () => store.isNew(),
    unlock: async (_timeout, passphrase) => {
      await store.unlock(passphrase);
      await vault.unlock();
    },
    lock: async () => {
      store.lock();
      vault.lock();
    },
    changePassphrase: (current, next) => store.changePassphrase(current, next),
  };
}
