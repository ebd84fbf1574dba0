/**
 * Storage in one SQLite file, for the processes of one machine.
 *
 * Invariant: the file and its companions are the user's own (0600). Each change is one statement, so a kill leaves a
 * change whole or absent.
 */
import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { KeyturnError } from '../../base/errors.ts';
import { columns, pageLength, read, textOf, written } from './row.ts';
import type { NamedItem, Storage } from './storage.ts';

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

/** `path`: of the file, whose folder must exist; `:memory:` keeps nothing. Throws `file_unreadable` where the file can't be opened. */
export function sqliteStorage(path: string): Storage {
  const database = open(path);
  const insert = `into items (${columns}) values (?, ?, ?, ?, ?, ?, ?)`;
  const statements = {
    add: database.prepare(`insert or ignore ${insert}`),
    put: database.prepare(`insert or replace ${insert}`),
    get: database.prepare(`select ${columns} from items where kind = ? and id = ?`),
    byUid: database.prepare(`select ${columns} from items where uid = ? and kind = ?`),
    replace: database.prepare('update items set payload = ? where kind = ? and id = ? and payload = ?'),
    extend: database.prepare('update items set expires_at = ? where kind = ? and id = ?'),
    consume: database.prepare(
      'update items set consumed_at = ? where kind = ? and id = ? and consumed_at is null',
    ),
    remove: database.prepare('delete from items where kind = ? and id = ?'),
    removeGrant: database.prepare('delete from items where grant_id = ? and kind = ?'),
    list: database.prepare(`select ${columns} from items where kind = ? order by id`),
    ids: database.prepare('select id from items where kind = ? order by id'),
    scan: database.prepare(
      `select ${columns} from items where (kind, id) > (?, ?) order by kind, id limit ${pageLength}`,
    ),
    removeExpired: database.prepare('delete from items where expires_at < ?'),
  };
  return {
    atRest: 'readable',
    add: async (kind, id, item) => statements.add.run(...written(kind, id, item)).changes === 1,
    async put(kind, id, item) {
      statements.put.run(...written(kind, id, item));
    },
    get: async (kind, id) => one(statements.get, kind, id)?.item,
    getByUid: async (kind, uid) => one(statements.byUid, uid, kind),
    replace: async (kind, id, before, after) =>
      statements.replace.run(textOf(after), kind, id, textOf(before)).changes === 1,
    async extend(kind, id, expiresAt) {
      statements.extend.run(expiresAt, kind, id);
    },
    consume: async (kind, id, at) => statements.consume.run(at, kind, id).changes === 1,
    async remove(kind, id) {
      statements.remove.run(kind, id);
    },
    async removeGrant(kind, grantId) {
      statements.removeGrant.run(grantId, kind);
    },
    list: async (kind) => statements.list.all(kind).map(read),
    ids: async (kind) => statements.ids.all(kind).map((row) => String(row['id'])),
    scan: async (after) => statements.scan.all(after?.kind ?? '', after?.id ?? '').map(read),
    async removeExpired(now) {
      statements.removeExpired.run(now);
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
      `pragma busy_timeout = ${busyTimeout}; pragma journal_mode = wal; pragma synchronous = full;`,
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

function one(statement: StatementSync, ...keys: [string, string]): NamedItem | undefined {
  const found = statement.get(...keys);
  return found === undefined ? undefined : read(found);
}
