/**
 * Storage in PostgreSQL, for several processes on several machines.
 *
 * Invariant: of two processes that use up the same item, one finds it unused.
 */
import type { Pool } from 'pg';
import { KeyturnError } from '../../base/errors.ts';
import { indexesOf, sqlStorage } from './sql.ts';
import type { Storage } from './storage.ts';

/** Two processes that start at once must not both make the table. The number names nothing but this. */
const schema = `
select pg_advisory_xact_lock(6279731);
create table if not exists keyturn_items (
  kind text collate "C" not null,
  id text collate "C" not null,
  payload text not null,
  expires_at double precision,
  consumed_at double precision,
  grant_id text,
  uid text,
  primary key (kind, id)
);
${indexesOf('keyturn_items')}`;

/** Milliseconds. A user waits for the page. */
const connectionTimeout = 5000;
const queryTimeout = 10_000;

/**
 * `url`: `postgresql://USER:PASSWORD@HOST/DATABASE`, with whatever else `pg` reads there. Makes the table if it isn't
 * there.
 * Throws `invalid_request` where `pg` isn't installed, `file_unreadable` where the database can't be used.
 */
export async function postgresStorage(url: string): Promise<Storage> {
  const pool = await open(url);
  return sqlStorage('keyturn_items', {
    async rows(text, ...values) {
      // A client may call itself anything, and no text of the database has this character.
      if (values.some((value) => String(value).includes('\0'))) return [];
      return (await pool.query(text, values)).rows;
    },
    change: async (text, ...values) => (await pool.query(text, values)).rowCount ?? 0,
    close: async () => pool.end(),
  });
}

async function open(connectionString: string): Promise<Pool> {
  const { default: pg } = await load();
  const pool = new pg.Pool({
    connectionString,
    connectionTimeoutMillis: connectionTimeout,
    query_timeout: queryTimeout,
  });
  // A connection that breaks while nobody uses it would end the process. The next query makes another.
  pool.on('error', () => undefined);
  try {
    // Several statements in one text are one transaction.
    await pool.query(schema);
    return pool;
  } catch (cause) {
    await pool.end();
    throw new KeyturnError('file_unreadable', "The PostgreSQL database can't be used.", {
      hint: 'Check its URL and password, that it runs, and that the user may make a table there.',
      cause,
    });
  }
}

async function load(): Promise<typeof import('pg')> {
  try {
    return await import('pg');
  } catch (cause) {
    throw new KeyturnError(
      'invalid_request',
      'The package pg, which postgresStorage needs, is not installed.',
      { hint: 'Run: npm install pg@8', cause },
    );
  }
}
