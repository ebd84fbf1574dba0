/**
 * Storage in PostgreSQL, for several processes on several machines.
 *
 * Invariant: each change is one statement, and the database decides who was first: of two processes that use up the
 * same item, one finds it unused.
 */
import type { Pool } from 'pg';
import { z } from 'zod';
import { KeyturnError } from '../../base/errors.ts';
import { columns, pageLength, read, textOf, written } from './row.ts';
import type { PlacedItem, Storage } from './storage.ts';

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
create index if not exists keyturn_items_by_grant on keyturn_items (grant_id, kind) where grant_id is not null;
create index if not exists keyturn_items_by_uid on keyturn_items (uid, kind) where uid is not null;
create index if not exists keyturn_items_by_expiry on keyturn_items (expires_at) where expires_at is not null;
`;

const insert = `insert into keyturn_items (${columns}) values ($1, $2, $3, $4, $5, $6, $7)`;
const replaced = columns
  .split(', ')
  .map((column) => `${column} = excluded.${column}`)
  .join(', ');

const statements = {
  add: `${insert} on conflict do nothing`,
  put: `${insert} on conflict (kind, id) do update set ${replaced}`,
  get: `select ${columns} from keyturn_items where kind = $1 and id = $2`,
  byUid: `select ${columns} from keyturn_items where kind = $1 and uid = $2 limit 1`,
  replace: 'update keyturn_items set payload = $3 where kind = $1 and id = $2 and payload = $4',
  extend: 'update keyturn_items set expires_at = $3 where kind = $1 and id = $2',
  consume: 'update keyturn_items set consumed_at = $3 where kind = $1 and id = $2 and consumed_at is null',
  remove: 'delete from keyturn_items where kind = $1 and id = $2',
  removeGrant: 'delete from keyturn_items where kind = $1 and grant_id = $2',
  list: `select ${columns} from keyturn_items where kind = $1 order by id`,
  ids: 'select id from keyturn_items where kind = $1 order by id',
  scan: `select ${columns} from keyturn_items where (kind, id) > ($1, $2) order by kind, id limit ${pageLength}`,
  removeExpired: 'delete from keyturn_items where expires_at < $1',
} as const;

const idRow = z.object({ id: z.string() });

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
  const rows = async (text: string, ...values: unknown[]): Promise<PlacedItem[]> =>
    (await pool.query(text, values)).rows.map(read);
  const changes = async (text: string, ...values: unknown[]): Promise<boolean> =>
    (await pool.query(text, values)).rowCount === 1;
  return {
    atRest: 'readable',
    add: async (kind, id, item) => changes(statements.add, ...written(kind, id, item)),
    async put(kind, id, item) {
      await pool.query(statements.put, written(kind, id, item));
    },
    async get(kind, id) {
      // A client may call itself anything, and no text of the database has this character.
      return id.includes('\0') ? undefined : (await rows(statements.get, kind, id))[0]?.item;
    },
    getByUid: async (kind, uid) => (await rows(statements.byUid, kind, uid))[0],
    replace: async (kind, id, before, after) =>
      changes(statements.replace, kind, id, textOf(after), textOf(before)),
    async extend(kind, id, expiresAt) {
      await pool.query(statements.extend, [kind, id, expiresAt]);
    },
    consume: async (kind, id, at) => changes(statements.consume, kind, id, at),
    async remove(kind, id) {
      await pool.query(statements.remove, [kind, id]);
    },
    async removeGrant(kind, grantId) {
      await pool.query(statements.removeGrant, [kind, grantId]);
    },
    list: async (kind) => rows(statements.list, kind),
    ids: async (kind) =>
      z
        .array(idRow)
        .parse((await pool.query(statements.ids, [kind])).rows)
        .map(({ id }) => id),
    scan: async (after) => rows(statements.scan, after?.kind ?? '', after?.id ?? ''),
    async removeExpired(now) {
      await pool.query(statements.removeExpired, [now]);
    },
    close: async () => pool.end(),
  };
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
