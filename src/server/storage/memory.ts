/**
 * Storage in memory, for tests and for servers that may forget.
 *
 * Invariant: nothing is shared between two of them, and nothing outlives the process. No method waits in its middle, so
 * each change happens at once.
 */
import type { NamedItem, Storage, StoredItem } from './storage.ts';

/** Why a server for others refuses to start without a storage. */
export const unnamedStorage =
  'without one everything ends with the process. Write memoryStorage() to allow that';

export function memoryStorage(): Storage {
  const kinds = new Map<string, Map<string, StoredItem>>();
  const itemsOf = (kind: string): Map<string, StoredItem> => {
    const known = kinds.get(kind) ?? new Map<string, StoredItem>();
    kinds.set(kind, known);
    return known;
  };
  return {
    atRest: 'nothing',
    async add(kind, id, item) {
      if (itemsOf(kind).has(id)) return false;
      itemsOf(kind).set(id, item);
      return true;
    },
    async put(kind, id, item) {
      itemsOf(kind).set(id, item);
    },
    get: async (kind, id) => itemsOf(kind).get(id),
    getByUid: async (kind, uid) => named(itemsOf(kind)).find(({ item }) => item.uid === uid),
    async replace(kind, id, before, payload) {
      const item = itemsOf(kind).get(id);
      if (!item || JSON.stringify(item.payload) !== JSON.stringify(before)) return false;
      itemsOf(kind).set(id, { ...item, payload });
      return true;
    },
    async extend(kind, id, expiresAt) {
      const item = itemsOf(kind).get(id);
      if (item) itemsOf(kind).set(id, { ...item, expiresAt });
    },
    async consume(kind, id, at) {
      const item = itemsOf(kind).get(id);
      if (!item || item.consumedAt !== undefined) return false;
      itemsOf(kind).set(id, { ...item, consumedAt: at });
      return true;
    },
    async remove(kind, id) {
      itemsOf(kind).delete(id);
    },
    async removeGrant(kind, grantId) {
      removeIf(itemsOf(kind), (item) => item.grantId === grantId);
    },
    list: async (kind) => named(itemsOf(kind)),
    ids: async (kind) => [...itemsOf(kind).keys()],
    // One page holds everything.
    scan: async (after) =>
      after ? [] : [...kinds].flatMap(([kind, items]) => named(items).map((each) => ({ kind, ...each }))),
    async removeExpired(now) {
      for (const items of kinds.values()) {
        removeIf(items, ({ expiresAt }) => expiresAt !== undefined && expiresAt < now);
      }
    },
    async close() {
      kinds.clear();
    },
  };
}

type Items = Map<string, StoredItem>;

function removeIf(items: Items, isOver: (item: StoredItem) => boolean): void {
  for (const [id, item] of items) if (isOver(item)) items.delete(id);
}

function named(items: Items): NamedItem[] {
  return [...items].map(([id, item]) => ({ id, item }));
}
