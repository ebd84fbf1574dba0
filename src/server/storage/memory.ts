/**
 * Storage in memory, for tests and for servers that may forget.
 *
 * Invariant: nothing is shared between two of them, and nothing outlives the process.
 */
import type { Storage, StoredItem } from './storage.ts';

export function memoryStorage(): Storage {
  const kinds = new Map<string, Map<string, StoredItem>>();
  const itemsOf = (kind: string): Map<string, StoredItem> => {
    const known = kinds.get(kind) ?? new Map<string, StoredItem>();
    kinds.set(kind, known);
    return known;
  };
  return {
    async put(kind, id, item) {
      itemsOf(kind).set(id, item);
    },
    async get(kind, id) {
      return itemsOf(kind).get(id);
    },
    async getByUid(kind, uid) {
      return itemsOf(kind)
        .values()
        .find((item) => item.uid === uid);
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
      const items = itemsOf(kind);
      for (const [id, item] of items) if (item.grantId === grantId) items.delete(id);
    },
    async list(kind) {
      return [...itemsOf(kind)].map(([id, item]) => ({ id, item }));
    },
    async sweep(now) {
      for (const items of kinds.values()) {
        for (const [id, { expiresAt }] of items) {
          if (expiresAt !== undefined && expiresAt < now) items.delete(id);
        }
      }
    },
    async close() {
      kinds.clear();
    },
  };
}
