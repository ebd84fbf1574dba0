/** What every kind of storage does, whatever lies below. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { memoryStorage } from '../../../src/server/storage/memory.ts';
import { postgresStorage } from '../../../src/server/storage/postgres.ts';
import { sealedStorage } from '../../../src/server/storage/sealing.ts';
import { sqliteStorage } from '../../../src/server/storage/sqlite.ts';
import { ofTest } from '../../support/lasting.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { postgresPrograms, startPostgres } from '../../support/servers/postgres.ts';
import type { Storage } from '../../../src/server/storage/storage.ts';
import { thirdPartyServer } from '../../../src/server/third-party/index.ts';
import { checkedToken, signIn as signInUpstream, startFlow } from '../third-party/rig.ts';
import {
  authorizationOf,
  exchangeOf,
  refreshOf,
  signIn,
  startServer,
  tokenFor,
  walk,
} from '../authorization/rig.ts';

const consumer = path.join(import.meta.dirname, '../../support/processes/consuming-process.ts');
const folder = temporaryFolder(afterAll);

const postgres = postgresPrograms === undefined ? undefined : await startPostgres(postgresPrograms);
afterAll(async () => postgres?.stop());

const keys = [{ id: 'k', key: new Uint8Array(32).fill(7) }];
const kinds: [string, () => Storage | Promise<Storage>][] = [
  ['memory', memoryStorage],
  ['SQLite', () => sqliteStorage(path.join(folder, 'contract.db'))],
  ['sealed SQLite', () => sealedStorage(sqliteStorage(path.join(folder, 'sealed.db')), keys)],
];
if (postgres) kinds.push(['PostgreSQL', async () => postgresStorage(postgres.url)]);

if (!postgres) {
  it.skip('storage in PostgreSQL is not tried here: Debian’s postgresql is missing', () => undefined);
}

describe.each(kinds)('storage in %s', (_name, open) => {
  it('storage keeps an item, finds it by its second name, and uses it up once', async () => {
    const storage = await open();
    const item = { payload: { a: [1, 'ü'] }, expiresAt: 50, grantId: 'g', uid: 'u' };
    await storage.put('Kind', 'id', item);
    expect(await storage.get('Kind', 'id')).toEqual(item);
    expect(await storage.getByUid('Kind', 'u')).toMatchObject({ id: 'id', item });
    expect(await storage.getByUid('Other', 'u')).toBeUndefined();
    expect(await storage.get('Other', 'id')).toBeUndefined();
    const used = await Promise.all([1, 2, 3].map(async () => storage.consume('Kind', 'id', 7)));
    expect(used.filter(Boolean)).toHaveLength(1);
    expect(await storage.get('Kind', 'id')).toEqual({ ...item, consumedAt: 7 });
    expect(await storage.consume('Kind', 'nobody', 7)).toBe(false);
    await storage.close();
  });

  it('storage removes by id, by grant and by time', async () => {
    const storage = await open();
    await storage.put('A', '1', { payload: {}, grantId: 'g' });
    await storage.put('B', '1', { payload: {}, grantId: 'g' });
    await storage.put('A', '2', { payload: {}, expiresAt: 10 });
    await storage.put('A', '3', { payload: {}, expiresAt: 20 });
    await storage.removeGrant('A', 'g');
    await storage.put('A', '4', { payload: {}, expiresAt: 10 });
    await storage.extend('A', '4', 30);
    await storage.extend('A', '5', 30);
    await storage.removeExpired(15);
    await storage.remove('B', '1');
    expect((await storage.list('A')).map(({ id }) => id)).toEqual(['3', '4']);
    expect(await storage.ids('A')).toEqual(['3', '4']);
    expect(await storage.list('B')).toEqual([]);
    await storage.close();
  });

  it('storage adds an id once, and replaces a payload only if nobody did so before', async () => {
    const storage = await open();
    const added = await Promise.all(
      [1, 2, 3].map(async (n) => storage.add('Once', 'id', { payload: { n }, expiresAt: 1, grantId: 'g' })),
    );
    expect(added.filter(Boolean)).toHaveLength(1);
    const n = added.indexOf(true) + 1;
    await storage.consume('Once', 'id', 7);
    const replaced = await Promise.all(
      [10, 11].map(async (next) => storage.replace('Once', 'id', { n }, { n: next })),
    );
    expect(replaced.filter(Boolean)).toHaveLength(1);
    expect(await storage.get('Once', 'id')).toEqual({
      payload: { n: 10 + replaced.indexOf(true) },
      expiresAt: 1,
      consumedAt: 7,
      grantId: 'g',
    });
    expect(await storage.replace('Once', 'nobody', {}, {})).toBe(false);
    await storage.close();
  });

  it('storage shows every item of every kind once, page by page', async () => {
    const storage = await open();
    for (const kind of ['Many', 'More'])
      for (let n = 0; n < 35; n += 1) await storage.put(kind, `id ${n}`, { payload: { n } });
    const seen: string[] = [];
    for (let page = await storage.scan(); page.length > 0; page = await storage.scan(page.at(-1)))
      seen.push(...page.map(({ kind, id, item }) => `${kind} ${id} ${String(item.payload['n'])}`));
    const many = seen.filter((each) => /^(?:Many|More) /.test(each));
    expect(many).toHaveLength(70);
    expect(new Set(many).size).toBe(70);
    expect(many).toContain('More id 34 34');
    await storage.close();
  });
});

const shared: [string, string][] = [
  ['SQLite', path.join(folder, 'shared.db')],
  ...(postgres ? [['PostgreSQL', postgres.url] as [string, string]] : []),
];

describe.each(shared)('two processes on one storage in %s', (kind, place) => {
  it('AS-27: two processes on one storage use up each item once', async () => {
    const count = 60;
    const storage = kind === 'SQLite' ? sqliteStorage(place) : await postgresStorage(place);
    const ids = Array.from({ length: count }, (_, n) => String(n));
    for (const id of ids) await storage.put('Held', id, { payload: {} });
    const others = ['up', 'down'].map((way) => fork(consumer, [kind, place, String(count), way]));
    await Promise.all(others.map(async (other) => once(other, 'message')));
    const answers = others.map(async (other) => once(other, 'message'));
    for (const other of others) other.send('go');
    const used = (await Promise.all(answers)) as [string[]][];
    expect(used.flatMap(([each]) => each).toSorted()).toEqual(ids.toSorted());
    await storage.close();
  });
});

describe.each(shared)('sessions of the third-party flow, sealed in %s', (kind, place) => {
  const open = async (): Promise<Storage> =>
    sealedStorage(kind === 'SQLite' ? sqliteStorage(place) : await postgresStorage(place), keys);

  it('sealed third-party sessions continue and end in another process', async () => {
    const storages = [await ofTest(open()), await ofTest(open())] as const;
    const flow = await ofTest(startFlow({ storage: storages[0] }));
    const second = await ofTest(thirdPartyServer({ ...flow.options, storage: storages[1] }));
    const tokens = await signInUpstream(flow);
    const { access, refresh, session } = tokens;
    expect(await second.checkSession(checkedToken(flow, tokens))).toBe('valid');
    expect(await flow.call(access)).toBe(200);
    expect(await second.endSession(session)).toBe('confirmed');
    expect(await flow.call(access)).toBe(401);
    expect((await tokenFor(flow, refreshOf(refresh))).body['error']).toBe('invalid_grant');
    expect(await flow.server.receipt(session)).toBe('confirmed');
  });
});

describe.runIf(postgres)('two authorization servers on one PostgreSQL database', () => {
  it('AS-27: take a code and a refresh token once, whichever of them is asked', async () => {
    // The database was sealed by the test before.
    const openRig = async () => {
      const storage = await ofTest(postgresStorage(postgres?.url ?? ''));
      return ofTest(startServer({ storage: sealedStorage(storage, keys), lifetimes: { refreshGrace: 0 } }));
    };
    const rigs = [await openRig(), await openRig()] as const;
    const [rig] = rigs;
    const twice = async (form: Readonly<Record<string, string>>) => {
      const callers = [...rigs, ...rigs, ...rigs];
      const answers = await Promise.all(callers.map(async (each) => tokenFor(each, form)));
      expect(answers.filter(({ status }) => status !== 200).map(({ body }) => body['error'])).toEqual(
        answers.slice(1).map(() => 'invalid_grant'),
      );
    };
    const authorization = authorizationOf(rig);
    const { code } = await walk(rig, authorization);
    await twice(exchangeOf(authorization, code));
    const { body } = await signIn(rig);
    await twice(refreshOf(body['refresh_token']));
  });
});
