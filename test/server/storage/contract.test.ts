/** What every kind of storage does, whatever lies below. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { memoryStorage } from '../../../src/server/storage/memory.ts';
import { sealedStorage } from '../../../src/server/storage/sealing.ts';
import { sqliteStorage } from '../../../src/server/storage/sqlite.ts';
import type { Storage } from '../../../src/server/storage/storage.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-storage-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const keys = [{ id: 'k', key: new Uint8Array(32).fill(7) }];
const kinds: [string, () => Storage][] = [
  ['memory', memoryStorage],
  ['SQLite', () => sqliteStorage(path.join(folder, 'contract.db'))],
  ['sealed SQLite', () => sealedStorage(sqliteStorage(path.join(folder, 'sealed.db')), keys)],
];

describe.each(kinds)('storage in %s', (_name, open) => {
  it('keeps an item, finds it by its second name, and uses it up once', async () => {
    const storage = open();
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

  it('removes by id, by grant and by time', async () => {
    const storage = open();
    await storage.put('A', '1', { payload: {}, grantId: 'g' });
    await storage.put('B', '1', { payload: {}, grantId: 'g' });
    await storage.put('A', '2', { payload: {}, expiresAt: 10 });
    await storage.put('A', '3', { payload: {}, expiresAt: 20 });
    await storage.removeGrant('A', 'g');
    await storage.sweep(15);
    await storage.remove('B', '1');
    expect((await storage.list('A')).map(({ id }) => id)).toEqual(['3']);
    expect(await storage.list('B')).toEqual([]);
    await storage.close();
  });

  it('adds an id once, and replaces a payload only if nobody did so before', async () => {
    const storage = open();
    const added = await Promise.all(
      [1, 2, 3].map(async (n) => storage.add('Once', 'id', { payload: { n }, expiresAt: 1, grantId: 'g' })),
    );
    expect(added).toEqual([true, false, false]);
    await storage.consume('Once', 'id', 7);
    const replaced = await Promise.all(
      [2, 3].map(async (n) => storage.replace('Once', 'id', { n: 1 }, { n })),
    );
    expect(replaced).toEqual([true, false]);
    expect(await storage.get('Once', 'id')).toEqual({
      payload: { n: 2 },
      expiresAt: 1,
      consumedAt: 7,
      grantId: 'g',
    });
    expect(await storage.replace('Once', 'nobody', {}, {})).toBe(false);
    await storage.close();
  });

  it('shows every item of every kind once, page by page', async () => {
    const storage = open();
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
