/**
 * How an item is in a table of SQL: the same columns in SQLite and in PostgreSQL.
 *
 * Invariant: what is read has been checked; a row of another form is refused, never taken for an item.
 */
import { z } from 'zod';
import type { PlacedItem, StoredItem } from './storage.ts';

export const columns = 'kind, id, payload, expires_at, consumed_at, grant_id, uid';

/** Items of one page of a scan: some dozen kilobytes. */
export const pageLength = 50;

const row = z.object({
  kind: z.string(),
  id: z.string(),
  payload: z.string(),
  expires_at: z.number().nullable(),
  consumed_at: z.number().nullable(),
  grant_id: z.string().nullable(),
  uid: z.string().nullable(),
});

/** The payload as text. Two payloads that are the same have the same text. */
export const textOf = (payload: StoredItem['payload']): string => JSON.stringify(payload);

/** Values of `columns`. */
export function written(kind: string, id: string, item: StoredItem): (string | number | null)[] {
  const { payload, expiresAt = null, consumedAt = null, grantId = null, uid = null } = item;
  return [kind, id, textOf(payload), expiresAt, consumedAt, grantId, uid];
}

export function read(found: unknown): PlacedItem {
  const { kind, id, payload, expires_at, consumed_at, grant_id, uid } = row.parse(found);
  return {
    kind,
    id,
    item: {
      payload: z.record(z.string(), z.unknown()).parse(JSON.parse(payload)),
      ...(expires_at === null ? {} : { expiresAt: expires_at }),
      ...(consumed_at === null ? {} : { consumedAt: consumed_at }),
      ...(grant_id === null ? {} : { grantId: grant_id }),
      ...(uid === null ? {} : { uid }),
    },
  };
}
