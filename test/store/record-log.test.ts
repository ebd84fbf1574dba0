/** The index of grants on disk: each change durable, a torn end cut off, damage never taken for empty. */
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RecordLog } from '../../src/store/record-log.ts';
import { onFullDisk } from '../support/processes/limited.ts';
import { refusal } from '../broker/rig.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const schema = z.object({ id: z.string(), n: z.number() });
type Item = z.infer<typeof schema>;

const fileIn = (folder: string): string => path.join(folder, 'grants.jsonl');

function logIn(folder: string, reports: string[] = []): RecordLog<Item> {
  return new RecordLog(fileIn(folder), schema, (line) => reports.push(line));
}

async function opened(folder: string, reports: string[] = []): Promise<RecordLog<Item>> {
  const log = logIn(folder, reports);
  await log.load();
  return log;
}

/** A folder whose log holds a and b, and the file's text. */
async function filled(): Promise<{ folder: string; file: string; text: string }> {
  const folder = temporaryFolder();
  const log = await opened(folder);
  await log.put({ id: 'a', n: 1 });
  await log.put({ id: 'b', n: 1 });
  await log.put({ id: 'a', n: 2 });
  return { folder, file: fileIn(folder), text: readFileSync(fileIn(folder), 'utf8') };
}

const lines = (file: string): string[] => readFileSync(file, 'utf8').trimEnd().split('\n');

describe('a record log', () => {
  it('an absent log is empty, and no file is made before the first put', async () => {
    const folder = temporaryFolder();
    expect((await opened(folder)).items).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('the next broker reads the records that were put and not removed', async () => {
    const { folder, file } = await filled();
    const log = await opened(folder);
    expect(log.items).toEqual([
      { id: 'a', n: 2 },
      { id: 'b', n: 1 },
    ]);
    await log.remove('a');
    await log.remove('never there');
    expect((await opened(folder)).items).toEqual([{ id: 'b', n: 1 }]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('the log grows by one line for each change', async () => {
    const { file, text } = await filled();
    expect(lines(file)).toHaveLength(4);
    expect(text).toMatch(/^\{"records":"grants","version":2\}\n\{"put":\{"id":"a","n":1\}\}\n/);
  });

  it('the log shows a change at once, and keeps many changes at the same time in their order', async () => {
    const folder = temporaryFolder();
    const log = await opened(folder);
    const puts = Array.from({ length: 100 }, (_, n) => log.put({ id: `${n % 10}`, n }));
    expect(log.items).toHaveLength(10);
    await Promise.all(puts);
    const again = await opened(folder);
    expect(again.items).toEqual(log.items);
    expect(again.items.map(({ n }) => n)).toEqual([90, 91, 92, 93, 94, 95, 96, 97, 98, 99]);
  });

  it('the log is rewritten when most of its lines are dead, and holds the same records', async () => {
    const { folder, file } = await filled();
    const log = await opened(folder);
    for (let n = 0; n < 600; n += 1) await log.put({ id: 'a', n });
    expect(lines(file).length).toBeLessThan(300);
    expect((await opened(folder)).items).toEqual([
      { id: 'a', n: 599 },
      { id: 'b', n: 1 },
    ]);
    expect(readdirSync(folder)).toEqual(['grants.jsonl']);
  });

  it('goes on growing if it can’t be rewritten, and reports why', async () => {
    const { folder, file } = await filled();
    mkdirSync(`${file}.new`);
    const reports: string[] = [];
    const log = await opened(folder, reports);
    for (let n = 0; n < 300; n += 1) await log.put({ id: 'a', n });
    expect(reports[0]).toContain("can't be written");
    expect((await opened(folder)).items).toEqual(log.items);
    expect(log.items[0]).toEqual({ id: 'a', n: 299 });
  });
});

describe('a torn end', () => {
  it.each(['{"put":{"id":"c",', '{"put":{"id":"c","n":1}}', '\0\0\0\0'])(
    '(%j) is kept aside, cut off and reported; every whole line counts',
    async (tail) => {
      const { folder, file, text } = await filled();
      appendFileSync(file, tail);
      const reports: string[] = [];
      const log = await opened(folder, reports);
      expect(log.items.map(({ id }) => id)).toEqual(['a', 'b']);
      const [aside] = readdirSync(folder).filter((name) => name.includes('.torn-'));
      expect(readFileSync(path.join(folder, aside ?? ''), 'utf8')).toBe(tail);
      expect(reports).toEqual([expect.stringContaining(aside ?? 'a name')]);
      expect(readFileSync(file, 'utf8')).toBe(text);
      await log.put({ id: 'd', n: 1 });
      expect((await opened(folder)).items.map(({ id }) => id)).toEqual(['a', 'b', 'd']);
    },
  );

  it('a log torn at any byte loses the torn change and nothing before it', async () => {
    const { text } = await filled();
    const headerEnd = text.indexOf('\n') + 1;
    for (let end = headerEnd; end < text.length; end += 1) {
      const folder = temporaryFolder();
      writeFileSync(fileIn(folder), text.slice(0, end), { mode: 0o600 });
      const whole = text.slice(0, end).split('\n').length - 2;
      expect((await opened(folder)).items).toHaveLength(Math.min(whole, 2));
    }
  });
});

describe('a log that can’t be read', () => {
  const damaged: readonly [string, (text: string) => string, RegExp][] = [
    ['nothing', () => '', /first line is missing/],
    ['a torn first line', (text) => text.slice(0, 10), /first line is missing/],
    ['no first line', (text) => text.slice(text.indexOf('\n') + 1), /can't be read/],
    [
      'a line of garbage in the middle',
      (text) => text.replace('{"put":{"id":"b"', '{"pu'),
      /line 3 is damaged/,
    ],
    ['a last line of garbage', (text) => `${text}garbage\n`, /line 5 is damaged/],
    ['an empty line', (text) => text.replace('\n{"put":{"id":"b"', '\n\n{"put":{"id":"b"'), /line 3/],
    ['a change nobody knows', (text) => `${text}{"add":{"id":"c","n":1}}\n`, /line 5/],
    ['a record of another shape', (text) => `${text}{"put":{"id":"c","n":"hush"}}\n`, /line 5/],
    ['records of another kind', (text) => text.replace('grants', 'others'), /another kind/],
    [
      'a newer format',
      (text) => text.replace('"version":2', '"version":3'),
      /its format is 3, and this Keyturn knows 2/,
    ],
  ];

  it.each(damaged)('(%s) is reported and left byte for byte', async (_what, damage, words) => {
    const { folder, file, text } = await filled();
    const now = damage(text);
    writeFileSync(file, now);
    const log = logIn(folder);
    const error = { reason: 'file_unreadable', message: expect.stringMatching(words) };
    expect(await refusal(log.load())).toMatchObject(error);
    expect(() => log.items).toThrow(expect.objectContaining(error));
    expect(await refusal(log.put({ id: 'c', n: 1 }))).toMatchObject(error);
    expect(log.trouble).toMatchObject({ file, why: expect.stringMatching(words) });
    expect(log.trouble?.why).not.toContain('hush');
    expect(readFileSync(file, 'utf8')).toBe(now);
    expect(readdirSync(folder)).toEqual(['grants.jsonl']);
    writeFileSync(file, text);
    await log.load();
    expect(log.items).toHaveLength(2);
    expect(log.trouble).toBeUndefined();
  });

  it('(a symbolic link, or a mode that lets others in) is refused with what mends it', async () => {
    const { folder, file } = await filled();
    chmodSync(file, 0o644);
    expect(await refusal(logIn(folder).load())).toMatchObject({ hint: expect.stringContaining('chmod 600') });
    chmodSync(file, 0o600);
    renameSync(file, path.join(folder, 'elsewhere'));
    symlinkSync('elsewhere', file);
    expect(await refusal(logIn(folder).load())).toMatchObject({
      message: expect.stringContaining('symbolic'),
    });
  });
});

describe('a change that can’t be written', () => {
  it('is undone, with all later changes that rest on it, and reported', async () => {
    const { folder, file, text } = await filled();
    const log = await opened(folder);
    rmSync(file);
    mkdirSync(file);
    const lost = [log.put({ id: 'a', n: 3 }), log.put({ id: 'a', n: 4 }), log.remove('b')];
    expect(log.items).toEqual([{ id: 'a', n: 4 }]);
    for (const error of await Promise.all(lost.map(refusal))) {
      expect(error).toMatchObject({ reason: 'file_unreadable' });
    }
    expect(log.items).toEqual(
      expect.arrayContaining([
        { id: 'a', n: 2 },
        { id: 'b', n: 1 },
      ]),
    );
    rmSync(file, { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
    await log.put({ id: 'c', n: 1 });
    expect((await opened(folder)).items).toHaveLength(3);
  });

  it('because another program changed the file is refused, and the bytes of that program stay', async () => {
    const { folder, file, text } = await filled();
    const log = await opened(folder);
    for (const foreign of [`${text}{"remove":"a"}\n`, text.slice(0, -5)]) {
      writeFileSync(file, foreign);
      expect(await refusal(log.put({ id: 'c', n: 1 }))).toMatchObject({
        message: expect.stringContaining('something else changed it'),
      });
      expect(readFileSync(file, 'utf8')).toBe(foreign);
    }
    expect(log.items).toHaveLength(2);
  });

  it('because the disk is full leaves file and memory as they were, and later ones are kept', () => {
    const { outcomes, memory, later, disk } = onFullDisk(fileIn(temporaryFolder()));
    const full = expect.stringContaining("can't be written (EFBIG)");
    expect(outcomes).toEqual(['kept', full, full, full]);
    expect(memory).toEqual(['small 10']);
    expect(later).toBe('kept');
    expect(disk).toEqual(['small 10', 'later 10']);
  });
});
