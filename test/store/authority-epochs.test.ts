/** Changes that narrow: the file first, then the vault, then the answer; and what a failure at each step leaves. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { HomeAuthority } from '../../src/store/authority.ts';
import type { EpochItem } from '../../src/store/authority-epochs.ts';
import type { ChangeRules } from '../../src/store/narrowing.ts';
import type { AuthorityStore } from '../../src/store/record-store.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { refusal, testAuthority } from '../broker/rig.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const schema = z.object({
  name: z.string(),
  isDenial: z.boolean().optional(),
  seenAt: z.number().optional(),
});
type Item = z.infer<typeof schema>;

const rules: ChangeRules<Item> = {
  isDenial: ({ isDenial }) => isDenial === true,
  essence: ({ seenAt: _at, ...rest }) => rest,
};

/** The vault's item, whose writes can fail before or after they took effect, or never end. */
class VaultItem implements EpochItem {
  text: string | undefined;
  writes = 0;
  next: 'works' | 'fails' | 'keeps and fails' | 'hangs' = 'works';

  async read(): Promise<string | undefined> {
    return this.text;
  }

  async write(text: string): Promise<void> {
    this.writes += 1;
    if (this.next === 'hangs') await new Promise<never>(() => undefined);
    if (this.next !== 'fails') this.text = text;
    if (this.next !== 'works') throw new KeyturnError('vault_unavailable', 'the vault is out of order');
  }

  epoch(name = 'items'): number {
    if (this.text === undefined) return 0;
    const { epochs } = JSON.parse(this.text) as { epochs: Record<string, { epoch: number }> };
    return epochs[name]?.epoch ?? 0;
  }
}

interface Opened {
  readonly authority: HomeAuthority;
  readonly records: AuthorityStore<Item>;
}

async function opened(folder: string, epochs: EpochItem): Promise<Opened> {
  const authority = testAuthority(folder, { epochs });
  const records = authority.records('items', schema, rules);
  await records.load().catch(() => undefined);
  await authority.verify();
  return { authority, records };
}

/** A file with `a` and `b`, in epoch 0. */
async function scene() {
  const [folder, vault] = [temporaryFolder(), new VaultItem()];
  const { records } = await opened(folder, vault);
  await records.change(() => [{ name: 'a' }, { name: 'b' }]);
  const file = path.join(folder, 'items.json');
  const restart = async (): Promise<AuthorityStore<Item>> => (await opened(folder, vault)).records;
  return { folder, vault, records, file, restart };
}

const without = (name: string) => (items: readonly Item[]) => items.filter((item) => item.name !== name);
const namesOf = ({ items }: AuthorityStore<Item>): string[] => items.map(({ name }) => name);

describe('the epoch of a file', () => {
  const changes: readonly [string, number, (items: readonly Item[]) => Item[]][] = [
    ['a record that is added', 0, (items) => [...items, { name: 'c' }]],
    ['another order', 0, (items) => items.toReversed()],
    [
      'a field that says nothing about who may do what',
      0,
      (items) => items.map((i) => ({ ...i, seenAt: 5 })),
    ],
    ['a record that is removed', 1, (items) => items.slice(1)],
    ['a record that is changed', 1, (items) => items.map((item) => ({ ...item, isDenial: true }))],
    ['a denial that is added', 1, (items) => [...items, { name: 'c', isDenial: true }]],
  ];

  it.each(changes)(
    'the epoch of a file advances only for a change that narrows: %s',
    async (_what, epoch, edit) => {
      const { vault, records, restart } = await scene();
      const before = vault.writes;
      await records.change(edit);
      expect(vault.epoch()).toBe(epoch);
      expect(vault.writes).toBe(before + epoch);
      expect((await restart()).items).toEqual(records.items);
    },
  );

  it('the epoch is written once for all changes that share a write of the file', async () => {
    const { vault, records, restart } = await scene();
    await Promise.all([records.change(without('a')), records.change(without('b'))]);
    const names = Array.from({ length: 20 }, (_, n) => ({ name: `${n}` }));
    await records.change((items) => [...items, ...names]);
    await Promise.all(names.map(({ name }) => records.change(without(name))));
    expect(vault.epoch()).toBeLessThan(6);
    expect(namesOf(await restart())).toEqual([]);
  });

  it('the epoch is kept for each file, in any order of writes', async () => {
    const [folder, vault] = [temporaryFolder(), new VaultItem()];
    const authority = testAuthority(folder, { epochs: vault });
    const files = ['one', 'two', 'three'].map((name) => authority.records(name, schema, rules));
    for (const file of files) await file.change(() => [{ name: 'a' }]);
    await Promise.all(files.map((file) => file.change(() => [])));
    expect(['one', 'two', 'three'].map((name) => vault.epoch(name))).toEqual([1, 1, 1]);
  });
});

describe('a vault that fails', () => {
  it.each(['fails', 'keeps and fails'] as const)(
    '(it %s) makes the change fail: nothing changes, now or at the next start',
    async (how) => {
      const { vault, records, restart } = await scene();
      vault.next = how;
      expect(await refusal(records.change(without('a')))).toMatchObject({ reason: 'vault_unavailable' });
      expect(namesOf(records)).toEqual(['a', 'b']);
      expect(namesOf(await restart().catch(() => records))).toEqual(['a', 'b']);
      // Neither the same change nor another one counts before the vault takes the edition that the file has.
      expect(await refusal(records.change(without('a')))).toMatchObject({ reason: 'vault_unavailable' });
      vault.next = 'works';
      await records.change(without('a'));
      expect(vault.epoch()).toBe(2);
      expect(namesOf(await restart())).toEqual(['b']);
    },
  );

  it('at the same time as the disk lets the change stand, reports the failure, and catches up with the next change', async () => {
    const { vault, records, file, restart } = await scene();
    const [text] = [readFileSync(file, 'utf8')];
    vault.next = 'fails';
    const writing = vault.write.bind(vault);
    // A folder in the draft's place stops the second write of the file.
    vault.write = async (next) => {
      mkdirSync(`${file}.new`);
      await writing(next);
    };
    expect(await refusal(records.change(without('a')))).toMatchObject({ reason: 'vault_unavailable' });
    expect(namesOf(records)).toEqual(['b']);
    rmSync(`${file}.new`, { recursive: true });
    vault.write = writing;
    vault.next = 'works';
    await records.change(without('a'));
    expect(vault.epoch()).toBe(1);
    writeFileSync(file, text);
    expect(() => records.items).not.toThrow();
    const next = await restart();
    expect(() => next.items).toThrow(/older copy/);
  });

  it('a change is not acknowledged while the vault does not answer', async () => {
    const { vault, records } = await scene();
    vault.next = 'hangs';
    const change = records.change(without('a')).then(() => 'answered');
    const later = new Promise((resolve) => setTimeout(() => resolve('waiting'), 50));
    expect(await Promise.race([change, later])).toBe('waiting');
  });
});

describe('a broker that ends', () => {
  it('between the writes of file and vault leaves a change that counts from the next start, in the vault too', async () => {
    const { vault, records, restart } = await scene();
    vault.next = 'hangs';
    void records.change(without('a'));
    await expect.poll(() => vault.writes).toBe(1);
    vault.next = 'works';
    expect(vault.epoch()).toBe(0);
    expect(namesOf(await restart())).toEqual(['b']);
    expect(vault.epoch()).toBe(1);
  });

  it('a broker that ends before the file is replaced leaves the old records', async () => {
    const { records, file, restart, vault } = await scene();
    const text = readFileSync(file, 'utf8');
    await records.change(() => [{ name: 'c' }]);
    const draft = readFileSync(file, 'utf8');
    expect(vault.epoch()).toBe(1);
    // The disk as it was before, with the draft beside it.
    vault.text = undefined;
    writeFileSync(file, text);
    writeFileSync(`${file}.new`, draft);
    expect(namesOf(await restart())).toEqual(['a', 'b']);
  });

  it('leaves an epoch that the next start may fail to advance: no record counts until it succeeds', async () => {
    const { folder, vault, records } = await scene();
    vault.next = 'hangs';
    void records.change(without('a'));
    await expect.poll(() => vault.writes).toBe(1);
    vault.next = 'fails';
    const authority = testAuthority(folder, { epochs: vault });
    const next = authority.records('items', schema, rules);
    await next.load();
    expect(await refusal(authority.verify())).toMatchObject({ reason: 'vault_unavailable' });
    expect(() => next.items).toThrow();
    vault.next = 'works';
    await authority.verify();
    expect(namesOf(next)).toEqual(['b']);
  });
});

describe('a vault of an earlier time than the file', () => {
  it('a vault of an earlier time gets the epoch of the newer file', async () => {
    const { vault, records, restart } = await scene();
    await records.change(without('a'));
    const earlier = vault.text;
    await records.change(without('b'));
    await records.change(() => [{ name: 'c' }]);
    await records.change(() => []);
    vault.text = earlier;
    expect(namesOf(await restart())).toEqual([]);
    expect(vault.epoch()).toBe(3);
  });

  it('a vault item of an unknown shape is refused, and not overwritten', async () => {
    const { folder, vault } = await scene();
    vault.text = '{"version":2}';
    expect(await refusal(opened(folder, vault))).toMatchObject({
      reason: 'vault_unreadable',
      message: expect.stringContaining('"records" has an unknown shape'),
    });
    expect(vault.text).toBe('{"version":2}');
  });
});
