/**
 * Opens a home's vault, with the functions that lock and unlock it.
 *
 * Invariant: the caller gets the kind that it asked for, or an error, and never another kind instead.
 */
import { KeyturnError } from '../base/errors.ts';
import { keychainVault } from './keychain/keychain.ts';
import type { KeychainVault } from './keychain/keychain.ts';
import { memoryVault } from './memory.ts';
import type { SpawnWorker } from './keychain/keychain-process.ts';
import { sealedFileVault } from './sealed/sealed-file.ts';
import type { SealedFileVault } from './sealed/sealed-file.ts';
import type { Vault, VaultKind } from './base/vault.ts';
import type { VaultWatch } from './base/watch.ts';

/** Where the key of a sealed file comes from. */
export type SealedKey = 'passphrase' | 'keychain';

export interface OpenOptions {
  /** Names the home's items in the OS keychain, e.g. `keyturn/HOMEID`. */
  readonly service: string;
  /** How to start the keychain's worker; by default with Node. */
  readonly spawnWorker?: SpawnWorker;
  /** Gets the result of each keychain call, and decides when the keychain may be asked again. */
  readonly watch?: VaultWatch;
  /** Whether the keychain has a collection to store in. */
  readonly hasDefault?: () => Promise<boolean>;
  /** Required for `sealed-file`. */
  readonly sealedFile?: {
    /** Absolute path, e.g. `vault.sealed` in the state folder. */
    readonly file: string;
    /** A passphrase, or one item of the keychain under `service`. */
    readonly key: SealedKey;
    /** Gets lines for the broker's log; none holds a secret. */
    readonly report?: (line: string) => void;
  };
}

/**
 * A vault, and the owner's commands for it. Put a VaultGuard in front: a keychain or memory vault has no lock itself.
 */
export interface LockableVault {
  readonly vault: Vault;
  /** True if the vault begins locked and only a passphrase opens it. */
  readonly hasPassphrase: boolean;
  /** Throws unless the keychain that this vault needs is there. Stores nothing, and opens no prompt. */
  look(): Promise<void>;
  /** True if nobody has chosen a passphrase: the next `unlock` sets it. Throws `vault_unreadable`. */
  isNew(): Promise<boolean>;
  /** `timeout`: milliseconds for the person to answer the keychain's question. Throws as `Lockable.unlock`. */
  unlock(timeout: number, passphrase?: string): Promise<void>;
  /** Forgets the keys that the vault holds, once the running calls have ended. */
  lock(): Promise<void>;
  /** Throws `invalid_request` if the vault has no passphrase; else as `Lockable.changePassphrase`. */
  changePassphrase(current: string, next: string): Promise<void>;
}

const openers = {
  keychain: openKeychain,
  'sealed-file': openSealedFile,
  memory: openMemory,
} as const satisfies Record<VaultKind, (options: OpenOptions) => LockableVault>;

/**
 * A vault of this kind. Reads no file and no keychain yet. A `sealed-file` with a passphrase begins locked. Throws
 * `invalid_request` for a `sealed-file` without `sealedFile`.
 */
export function openVault(kind: VaultKind, options: OpenOptions): LockableVault {
  return openers[kind](options);
}

const withoutPassphrase = {
  hasPassphrase: false,
  look: () => Promise.resolve(),
  isNew: () => Promise.resolve(false),
  lock: () => Promise.resolve(),
  changePassphrase: () =>
    Promise.reject(
      new KeyturnError('invalid_request', 'this vault has no passphrase', {
        hint: 'Only a sealed-file vault with vaultKey "passphrase" has one; see docs/settings.md.',
      }),
    ),
} as const;

function openKeychain(options: OpenOptions): LockableVault {
  const vault = keychainVault(options);
  return {
    ...withoutPassphrase,
    vault,
    look: () => vault.look(),
    unlock: (timeout) => vault.unlock(timeout),
  };
}

function openMemory(): LockableVault {
  return { ...withoutPassphrase, vault: memoryVault(), unlock: () => Promise.resolve() };
}

function openSealedFile({ sealedFile, ...options }: OpenOptions): LockableVault {
  if (!sealedFile)
    throw new KeyturnError('invalid_request', 'a sealed-file vault needs to know its file and its key');
  const { key, ...rest } = sealedFile;
  if (key === 'passphrase') return withPassphrase(sealedFileVault({ ...rest, key: { kind: key } }));
  const keychain = keychainVault(options);
  return withKeychain(sealedFileVault({ ...rest, key: { kind: key, vault: keychain } }), keychain);
}

function withPassphrase(vault: SealedFileVault): LockableVault {
  return {
    vault,
    hasPassphrase: true,
    look: () => Promise.resolve(),
    isNew: async () => (await vault.condition()).state === 'new',
    unlock: (_timeout, passphrase) => vault.unlock(passphrase),
    lock: () => vault.lock(),
    changePassphrase: (current, next) => vault.changePassphrase(current, next),
  };
}

function withKeychain(vault: SealedFileVault, keychain: KeychainVault): LockableVault {
  return {
    ...withoutPassphrase,
    vault,
    look: () => keychain.look(),
    unlock: async (timeout) => {
      await keychain.unlock(timeout);
      await vault.unlock();
    },
    lock: () => vault.lock(),
  };
}
