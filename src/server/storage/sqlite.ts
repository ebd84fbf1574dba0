/**
 * Storage in one SQLite file, for one process.
 *
 * Invariant: the file and its companions are the user's own (0600). Each change is one statement, so a kill leaves a
 * change whole or absent.
 */
import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { z } from 'zod';
import { KeyturnError } from '../../base/errors.ts';
import type { Storage, StoredItem } from './storage.ts';

const schema = `
create table if not exists items (
  kind text not null,
  id text not null,
  payload text not null,
  expires_at integer,
  consumed_at integer,
  grant_id text,
  uid text,
  primary key (kind, id)
) strict, without rowid;
create index if not exists items_by_grant on items (grant_id, kind) where grant_id is not null;
create index if not exists items_by_uid on items (uid, kind) where uid is not null;
create index if not exists items_by_expiry on items (expires_at) where expires_at is not null;
`;

/** Milliseconds that a statement waits for another process that holds the file, such as a backup. */
const busyTimeout = 5000;

const row = z.object({
  id: z.string(),
  payload: z.string(),
  expires_at: z.number().nullable(),
  consumed_at: z.number().nullable(),
  grant_id: z.string().nullable(),
  uid: z.string().nullable(),
});

/** `path`: absolute; the folder must exist. Throws `file_unreadable` where the file can't be opened. */
export function sqliteStorage(path: string): Storage {
  const database = open(path);
  const columns = 'id, payload, expires_at, consumed_at, grant_id, uid';
  const statements = {
    put: database.prepare(
      'insert or replace into items (kind, id, payload, expires_at, consumed_at, grant_id, uid) values (?, ?, ?, ?, ?, ?, ?)',
    ),
    get: database.prepare(`select ${columns} from items where kind = ? and id = ?`),
    byUid: database.prepare(`select ${columns} from items where uid = ? and kind = ?`),
    consume: database.prepare(
      'update items set consumed_at = ? where kind = ? and id = ? and consumed_at is null',
    ),
    remove: database.prepare('delete from items where kind = ? and id = ?'),
    removeGrant: database.prepare('delete from items where grant_id = ? and kind = ?'),
    list: database.prepare(`select ${columns} from items where kind = ? order by id`),
    sweep: database.prepare('delete from items where expires_at < ?'),
  };
  return {
    async put(kind, id, item) {
      const { payload, expiresAt = null, consumedAt = null, grantId = null, uid = null } = item;
      statements.put.run(kind, id, JSON.stringify(payload), expiresAt, consumedAt, grantId, uid);
    },
    get: async (kind, id) => one(statements.get, kind, id),
    getByUid: async (kind, uid) => one(statements.byUid, uid, kind),
    consume: async (kind, id, at) => statements.consume.run(at, kind, id).changes === 1,
    async remove(kind, id) {
      statements.remove.run(kind, id);
    },
    async removeGrant(kind, grantId) {
      statements.removeGrant.run(grantId, kind);
    },
    list: async (kind) => statements.list.all(kind).map(read),
    async sweep(now) {
      statements.sweep.run(now);
    },
    async close() {
      database.close();
    },
  };
}

function open(path: string): DatabaseSync {
  try {
    // SQLite would make the file with the process's umask; its companions copy the mode of the file.
    if (path !== ':memory:') {
      closeSync(openSync(path, 'a', 0o600));
      chmodSync(path, 0o600);
    }
    const database = new DatabaseSync(path);
    database.exec(
      `pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = ${busyTimeout};`,
    );
    database.exec(schema);
    return database;
  } catch (cause) {
    throw new KeyturnError('file_unreadable', `The database ${path} can't be opened.`, {
      hint: 'Check that its folder exists, that you may write there, and that the file is an SQLite database.',
      cause,
    });
  }
}

function one(statement: StatementSync, ...keys: [string, string]): StoredItem | undefined {
  const found = statement.get(...keys);
  return found === undefined ? undefined : read(found).item;
}

function read(found: unknown): { id: string; item: StoredItem } {
  const { id, payload, expires_at, consumed_at, grant_id, uid } = row.parse(found);
  return {
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
