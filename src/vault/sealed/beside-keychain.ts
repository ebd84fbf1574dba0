/**
 * A folder of items whose root key is in the keychain.
 *
 * Invariant: another program can replace every file of the folder, and nothing of what the keychain keeps.
 */
import { rootItem, type Items, type ItemStore } from '../base/item-store.ts';
import { newestItem } from '../base/vault.ts';
import type { ItemFolder } from './item-folder.ts';

/** The keychain has the root key and `newest`, and the folder all others. */
export function besideKeychain(keychain: ItemStore, folder: ItemFolder): ItemStore {
  const kept = new Set<string>([rootItem, newestItem]);
  const placeOf = (name: string): Items => (kept.has(name) ? keychain : folder);
  return {
    get: (name) => placeOf(name).get(name),
    set: (name, value) => placeOf(name).set(name, value),
    replace: (name, before, value) => placeOf(name).replace(name, before, value),
    delete: (name) => placeOf(name).delete(name),
    createRoot: (fresh) => keychain.createRoot(fresh),
    prove: () => keychain.prove(),
    async destroy() {
      try {
        await keychain.destroy([newestItem]);
      } finally {
        await folder.destroy();
      }
    },
    close: () => keychain.close(),
  };
}
