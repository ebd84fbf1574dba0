/**
 * Storage in a table of SQL: the same statements in SQLite and in PostgreSQL.
 *
 * Invariant: each change is one statement, so the database decides who was first, and a kill leaves a change whole or
 * absent. What is read has been checked; a row of another form is refused, never taken for an item.
 */
import { z } from 'zod';
import type { PlacedItem, Storage, StoredItem } from './storage.ts';

/** A database. Parameters are `$1`, `$2`, …, in the order in which they are in the text. */
interface SqlDatabase {
  readonly rows: (text: string, ...values: readonly SqlValue[]) => Promise<readonly unknown[]>;
  /** Answers how many rows it changed. */
  readonly change: (text: string, ...values: readonly SqlValue[]) => Promise<number>;
  readonly close: () => Promise<void>;
}

type SqlValue = string | number | null;

const columns = 'kind, id, payload, expires_at, consumed_at, grant_id, uid';

/** Items of one page of a scan: some dozen kilobytes. */
const pageLength = 50;

export function indexesOf(table: string): string {
  return `
create index if not exists ${table}_by_grant on ${table} (grant_id, kind) where grant_id is not null;
create index if not exists ${table}_by_uid on ${table} (uid, kind) where uid is not null;
create index if not exists ${table}_by_expiry on ${table} (expires_at) where expires_at is not null;
`;
}

function statementsOf(table: string) {
  const insert = `insert into ${table} (${columns}) values ($1, $2, $3, $4, $5, $6, $7) on conflict`;
  const replaced = columns.split(', ').map((column) => `${column} = excluded.${column}`);
  const select = `select ${columns} from ${table}`;
  return {
    add: `${insert} do nothing`,
    put: `${insert} (kind, id) do update set ${replaced.join(', ')}`,
    get: `${select} where kind = $1 and id = $2`,
    byUid: `${select} where kind = $1 and uid = $2 limit 1`,
    replace: `update ${table} set payload = $1 where kind = $2 and id = $3 and payload = $4`,
    extend: `update ${table} set expires_at = $1 where kind = $2 and id = $3`,
    consume: `update ${table} set consumed_at = $1 where kind = $2 and id = $3 and consumed_at is null`,
    remove: `delete from ${table} where kind = $1 and id = $2`,
    removeGrant: `delete from ${table} where kind = $1 and grant_id = $2`,
    list: `${select} where kind = $1 order by id`,
    ids: `select id from ${table} where kind = $1 order by id`,
    scan: `${select} where (kind, id) > ($1, $2) order by kind, id limit ${pageLength}`,
    removeExpired: `delete from ${table} where expires_at < $1`,
  };
}

export function sqlStorage(table: string, { rows, change, close }: SqlDatabase): Storage {
  const statements = statementsOf(table);
  const items = async (text: string, ...values: SqlValue[]): Promise<PlacedItem[]> =>
    (await rows(text, ...values)).map(itemOf);
  const isDone = async (text: string, ...values: SqlValue[]): Promise<boolean> =>
    (await change(text, ...values)) === 1;
  return {
    atRest: 'readable',
    add: async (kind, id, item) => isDone(statements.add, ...valuesOf(kind, id, item)),
    async put(kind, id, item) {
      await change(statements.put, ...valuesOf(kind, id, item));
    },
    get: async (kind, id) => (await items(statements.get, kind, id))[0]?.item,
    getByUid: async (kind, uid) => (await items(statements.byUid, kind, uid))[0],
    // Two payloads that are the same have the same text.
    replace: async (kind, id, before, after) =>
      isDone(statements.replace, JSON.stringify(after), kind, id, JSON.stringify(before)),
    async extend(kind, id, expiresAt) {
      await change(statements.extend, expiresAt, kind, id);
    },
    consume: async (kind, id, at) => isDone(statements.consume, at, kind, id),
    async remove(kind, id) {
      await change(statements.remove, kind, id);
    },
    async removeGrant(kind, grantId) {
      await change(statements.removeGrant, kind, grantId);
    },
    list: async (kind) => items(statements.list, kind),
    ids: async (kind) => (await rows(statements.ids, kind)).map((found) => idRow.parse(found).id),
    scan: async (after) => items(statements.scan, after?.kind ?? '', after?.id ?? ''),
    async removeExpired(now) {
      await change(statements.removeExpired, now);
    },
    close,
  };
}

const idRow = z.object({ id: z.string() });

const row = idRow.extend({
  kind: z.string(),
  payload: z.string(),
  expires_at: z.number().nullable(),
  consumed_at: z.number().nullable(),
  grant_id: z.string().nullable(),
  uid: z.string().nullable(),
});

/** Values of `columns`. */
function valuesOf(kind: string, id: string, item: StoredItem): SqlValue[] {
  const { payload, expiresAt = null, consumedAt = null, grantId = null, uid = null } = item;
  return [kind, id, JSON.stringify(payload), expiresAt, consumedAt, grantId, uid];
}

function itemOf(found: unknown): PlacedItem {
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
