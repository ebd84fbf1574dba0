/**
 * Opens the vault that a home was created with.
 *
 * Invariant: the kind asked for or an error; never another kind in its place.
 */
import { keychainVault } from './keychain.ts';
import { memoryVault } from './memory.ts';
import type { SpawnWorker } from './keychain-process.ts';
import type { Vault, VaultKind } from './vault.ts';

export interface OpenOptions {
  /** Names the home's items in the OS keychain, e.g. `keyturn/HOMEID`. */
  readonly service: string;
  /** How to start the keychain's worker; by default with Node. */
  readonly spawnWorker?: SpawnWorker;
}

const openers = {
  keychain: keychainVault,
  memory: memoryVault,
} as const satisfies Record<VaultKind, (options: OpenOptions) => Vault>;

/** A vault of this kind. Nothing is read yet, and no keychain is touched. */
export function openVault(kind: VaultKind, options: OpenOptions): Vault {
  return openers[kind](options);
}
