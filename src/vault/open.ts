/**
 * Opens the vault that a home was created with.
 *
 * Invariant: the kind asked for or an error; never another kind in its place.
 */
import { KeyturnError } from '../errors.ts';
import { keychainVault } from './keychain.ts';
import { memoryVault } from './memory.ts';
import type { SpawnWorker } from './keychain-process.ts';
import { sealedFileVault } from './sealed-file.ts';
import type { Vault, VaultKind } from './vault.ts';

export interface OpenOptions {
  /** Names the home's items in the OS keychain, e.g. `keyturn/HOMEID`. */
  readonly service: string;
  /** How to start the keychain's worker; by default with Node. */
  readonly spawnWorker?: SpawnWorker;
  /** For `sealed-file`, which needs it. */
  readonly sealedFile?: {
    /** Absolute path, e.g. `vault.sealed` in the state folder. */
    readonly file: string;
    /** What opens it: a passphrase, or one item of the keychain under `service`. */
    readonly key: 'passphrase' | 'keychain';
    /** Gets lines for the broker's log; none holds a secret. */
    readonly report?: (line: string) => void;
  };
}

const openers = {
  keychain: keychainVault,
  'sealed-file': openSealedFile,
  memory: memoryVault,
} as const satisfies Record<VaultKind, (options: OpenOptions) => Vault>;

/**
 * A vault of this kind. Nothing is read yet, and no keychain is touched. A `sealed-file` with a
 * passphrase begins locked (see `isLockable`). Throws `invalid_request` where it has no file.
 */
export function openVault(kind: VaultKind, options: OpenOptions): Vault {
  return openers[kind](options);
}

function openSealedFile({ sealedFile, ...options }: OpenOptions): Vault {
  if (!sealedFile)
    throw new KeyturnError('invalid_request', 'a sealed-file vault needs to know its file and its key');
  const { key, ...rest } = sealedFile;
  return sealedFileVault({
    ...rest,
    key: key === 'passphrase' ? { kind: key } : { kind: key, vault: keychainVault(options) },
  });
}
