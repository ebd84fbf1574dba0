/**
 * Storage in one SQLite file, for the processes of one machine.
 *
 * Invariant: the file and its companions are the user's own (0600).
 */
import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { KeyturnError } from '../../base/errors.ts';
import { indexesOf, sqlStorage } from './sql.ts';
import type { Storage } from './storage.ts';

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
${indexesOf('items')}`;

/** Milliseconds that a statement waits for another process that holds the file, such as a backup. */
const busyTimeout = 5000;

/** `path`: of the file, whose folder must exist; `:memory:` keeps nothing. Throws `file_unreadable` where the file can't be opened. */
export function sqliteStorage(path: string): Storage {
  const database = open(path);
  const prepared = new Map<string, StatementSync>();
  const statement = (text: string): StatementSync => {
    const known = prepared.get(text) ?? database.prepare(text.replaceAll(/\$\d/g, '?'));
    prepared.set(text, known);
    return known;
  };
  return sqlStorage('items', {
    rows: async (text, ...values) => statement(text).all(...values),
    change: async (text, ...values) => Number(statement(text).run(...values).changes),
    async close() {
      database.close();
    },
  });
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
