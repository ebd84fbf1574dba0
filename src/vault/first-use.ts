/**
 * Tells once that a vault has answered: what needs a secret, but must not be the first to ask for
 * one, waits for this.
 *
 * Invariant: passes every call on unchanged; asks the vault nothing by itself.
 */
import type { Vault } from './vault.ts';

export function tellingFirstUse(vault: Vault, onFirstUse: () => void): Vault {
  let isUsed = false;
  const told = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer;
    if (!isUsed) {
      isUsed = true;
      onFirstUse();
    }
    return value;
  };
  return {
    kind: vault.kind,
    find: (id) => told(vault.find(id)),
    read: (id) => told(vault.read(id)),
    write: (id, secret) => told(vault.write(id, secret)),
    remove: (id) => told(vault.remove(id)),
    probe: () => told(vault.probe()),
    close: () => vault.close(),
  };
}
