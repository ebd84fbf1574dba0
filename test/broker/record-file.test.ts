/** Records on disk: absent is empty, unreadable is never empty, and what is there is never lost. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RecordFile } from '../../src/broker/record-file.ts';
import { refusal, temporaryFolder } from './rig.ts';

const schema = z.object({ name: z.string() });
type Item = z.infer<typeof schema>;

function recordsIn(folder: string, name = 'items.json'): RecordFile<Item> {
  return new RecordFile(path.join(folder, name), schema);
}

describe('a record file', () => {
  it('that is absent is empty, and stays absent until something is saved', async () => {
    const folder = temporaryFolder();
    expect(await recordsIn(folder).load()).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('gives back what was saved, to another reader too', async () => {
    const folder = temporaryFolder();
    const records = recordsIn(folder, 'deep/items.json');
    await records.save([{ name: 'a' }]);
    expect(records.items).toEqual([{ name: 'a' }]);
    expect(await recordsIn(folder, 'deep/items.json').load()).toEqual([{ name: 'a' }]);
  });

  it('is readable by its owner only, even if it was open to all before', async () => {
    const folder = temporaryFolder();
    const records = recordsIn(folder, 'deep/items.json');
    await records.save([]);
    expect(statSync(records.path).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(records.path)).mode & 0o777).toBe(0o700);
    chmodSync(records.path, 0o644);
    await records.save([{ name: 'a' }]);
    expect(statSync(records.path).mode & 0o777).toBe(0o600);
  });

  it('keeps the last of many saves at once, whole', async () => {
    const folder = temporaryFolder();
    const records = recordsIn(folder);
    await records.load();
    const saves = Array.from({ length: 50 }, (_, n) => records.save([...records.items, { name: `${n}` }]));
    await Promise.all(saves);
    const names = (await recordsIn(folder).load()).map(({ name }) => name);
    expect(names).toEqual(Array.from({ length: 50 }, (_, n) => `${n}`));
    expect(readdirSync(folder)).toEqual(['items.json']);
  });

  it('answers from memory once it is loaded', async () => {
    const folder = temporaryFolder();
    const records = recordsIn(folder);
    await records.save([{ name: 'a' }]);
    writeFileSync(records.path, 'garbage');
    expect(await records.load()).toEqual([{ name: 'a' }]);
  });
});

describe('a record file that can’t be read', () => {
  const unreadable: readonly [string, string][] = [
    ['garbage', 'no json'],
    ['an empty file', ''],
    ['a cut file', '{"version":1,"items":[{"na'],
    ['another shape', '{"version":1,"items":[{"name":7}]}'],
    ['a newer version', '{"version":2,"items":[]}'],
    ['a bare list', '[]'],
  ];

  it.each(unreadable)('(%s) is reported and left byte for byte', async (_name, text) => {
    const folder = temporaryFolder();
    const records = recordsIn(folder);
    writeFileSync(records.path, text);
    const error = { reason: 'file_unreadable', message: expect.stringContaining(records.path) };
    expect(await refusal(records.load())).toMatchObject(error);
    expect(() => records.items).toThrow(expect.objectContaining(error));
    expect(await refusal(records.save([{ name: 'new' }]))).toMatchObject(error);
    expect(records.isLoaded).toBe(false);
    expect(readFileSync(records.path, 'utf8')).toBe(text);
    expect(readdirSync(folder)).toEqual(['items.json']);
  });

  it('(a folder in its place) is reported, not taken for absent', async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, 'items.json'));
    expect(await refusal(recordsIn(folder).load())).toMatchObject({ reason: 'file_unreadable' });
  });

  it('is read anew once it is mended', async () => {
    const folder = temporaryFolder();
    const records = recordsIn(folder);
    writeFileSync(records.path, 'garbage');
    await refusal(records.load());
    writeFileSync(records.path, '{"version":1,"items":[{"name":"a"}]}');
    expect(await records.load()).toEqual([{ name: 'a' }]);
  });

  it('does not repeat what stands in it', async () => {
    const folder = temporaryFolder();
    const records = recordsIn(folder);
    writeFileSync(records.path, '{"version":1,"items":[{"name":{"secret":"hush"}}]}');
    expect(String(await refusal(records.load()))).not.toContain('hush');
  });
});
