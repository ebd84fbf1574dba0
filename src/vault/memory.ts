/**
 * The vault in memory, which is empty again after a restart: for a first try, for machines without a keychain, and
 * for tests.
 *
 * Invariant: no secret leaves this process's memory. Each memory vault has a root key of its own.
 */
import { randomBytes } from 'node:crypto';
import { rootItem, type ItemStore } from './base/item-store.ts';
import { ItemVault } from './item-vault.ts';

export function memoryStore(): ItemStore {
  const items = new Map([[rootItem, randomBytes(32).toString('base64url')]]);
  return {
    get: async (name) => items.get(name),
    set: async (name, value) => items.set(name, value).get(name),
    replace: async (name, before, value) => {
      if (items.get(name) === before) items.set(name, value);
      return items.get(name);
    },
    delete: async (name) => {
      items.delete(name);
      return undefined;
    },
    createRoot: async () => items.get(rootItem),
    prove: async () => undefined,
    destroy: async () => items.clear(),
    close: async () => items.clear(),
  };
}

export function memoryVault(store = memoryStore()): ItemVault {
  return new ItemVault({ kind: 'memory', store, homeId: 'memory', hadRoot: async () => true });
}
