/**
 * Tells when a vault answers: what needs a secret, but must not be the first to ask for one, waits
 * for this.
 *
 * Invariant: passes every call on unchanged; asks the vault nothing by itself.
 */
import { reasonOf } from '../base/errors.ts';
import type { Vault } from './base/vault.ts';

export interface VaultWatcher {
  /** It answered, for the first time or for the first time after trouble. */
  answered(): void;
  /** It is locked, or nobody answers. */
  failed(): void;
}

/** Each is told, in this order. */
export function both(...watchers: readonly VaultWatcher[]): VaultWatcher {
  return {
    answered: () => watchers.forEach((watcher) => watcher.answered()),
    failed: () => watchers.forEach((watcher) => watcher.failed()),
  };
}

export function tellingFirstUse(vault: Vault, watcher: VaultWatcher): Vault {
  let isAnswering = false;
  const told = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      const value = await answer;
      if (!isAnswering) {
        isAnswering = true;
        watcher.answered();
      }
      return value;
    } catch (error) {
      if (isTrouble(error) && isAnswering) {
        isAnswering = false;
        watcher.failed();
      }
      throw error;
    }
  };
  return {
    kind: vault.kind,
    find: (id) => told(vault.find(id)),
    read: (id) => told(vault.read(id)),
    write: (id, secret) => told(vault.write(id, secret)),
    remove: (id) => told(vault.remove(id)),
    probe: () => told(vault.probe()),
    destroy: (ids) => vault.destroy(ids),
    close: () => vault.close(),
  };
}

/** Of one item nothing follows for the others. */
function isTrouble(error: unknown): boolean {
  return ['locked', 'vault_unavailable'].includes(reasonOf(error));
}
