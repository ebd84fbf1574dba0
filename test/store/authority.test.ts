/** Records of authority count only if this home wrote them: MACs, refused files, failed changes. */
import { createSecretKey } from 'node:crypto';
import {
  chmodSync,
  chownSync,
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
import type { AuthorityParts, HomeAuthority } from '../../src/store/authority.ts';
import type { AuthorityStore } from '../../src/store/record-store.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { refusal, testAuthority } from '../broker/rig.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const schema = z.object({ name: z.string() });
type Item = z.infer<typeof schema>;

interface Opened {
  readonly authority: HomeAuthority;
  readonly records: AuthorityStore<Item>;
}

/** The steps of the daemon at its start. */
async function opened(folder: string, parts: Partial<AuthorityParts> = {}): Promise<Opened> {
  const authority = testAuthority(folder, parts);
  const records = authority.records('items', schema);
  await records.load().catch(() => undefined);
  return { authority, records };
}

const fileIn = (folder: string, name = 'items'): string => path.join(folder, `${name}.json`);
const write = (file: string, text: string): void => writeFileSync(file, text, { mode: 0o600 });

/** A folder whose file holds `a`, and its text. */
async function savedFolder(): Promise<{ folder: string; file: string; text: string }> {
  const folder = temporaryFolder();
  const { records } = await opened(folder);
  await records.change(() => [{ name: 'a' }]);
  return { folder, file: fileIn(folder), text: readFileSync(fileIn(folder), 'utf8') };
}

/** The file is refused with this reason and words, lists no records, and is byte for byte as it was. */
async function expectRefused(folder: string, words: string | RegExp): Promise<void> {
  const file = fileIn(folder);
  const text = readFileSync(file, 'utf8');
  const { authority, records } = await opened(folder);
  await authority.verify();
  const error = expect.objectContaining({
    reason: 'file_unreadable',
    message: expect.stringMatching(words),
    hint: expect.stringMatching(
      /`keyturn reset`|move (it|the file) away|Put its newest copy back|chmod 600|rm /,
    ),
  });
  expect(() => records.items).toThrow(error);
  expect(await refusal(records.change(() => []))).toEqual(error);
  expect(records.trouble).toMatchObject({ file, why: expect.stringMatching(words) });
  expect(readFileSync(file, 'utf8')).toBe(text);
  expect(readdirSync(folder)).toContain(path.basename(file));
}

describe('records of authority', () => {
  it('absent records of authority are empty, and no file is made before the first decision', async () => {
    const folder = temporaryFolder();
    const { authority, records } = await opened(folder);
    expect(records.shown).toEqual([]);
    await authority.verify();
    expect(records.items).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('the next broker reads the records, from a file that only the owner may read', async () => {
    const { folder, file } = await savedFolder();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { authority, records } = await opened(folder);
    await authority.verify();
    expect(records.items).toEqual([{ name: 'a' }]);
    expect(records.trouble).toBeUndefined();
    expect(readdirSync(folder)).toEqual(['items.json']);
  });

  it('records can only be listed before they are verified', async () => {
    const { folder } = await savedFolder();
    const { records } = await opened(folder);
    expect(records.shown).toEqual([{ name: 'a' }]);
    expect(() => records.items).toThrow(expect.objectContaining({ reason: 'file_unreadable' }));
  });

  it('records are verified once: afterwards neither vault nor disk is read again', async () => {
    const { folder, file } = await savedFolder();
    let asked = 0;
    const master = async () => {
      asked += 1;
      return createSecretKey(Buffer.alloc(32, 7));
    };
    const { authority, records } = await opened(folder, { master });
    await Promise.all([authority.verify(), authority.verify(), records.verify()]);
    const before = asked;
    rmSync(file);
    await authority.verify();
    await records.verify();
    expect(records.items).toEqual([{ name: 'a' }]);
    expect(asked).toBe(before);
  });
});

describe('a file that this home did not write', () => {
  const forged: readonly [string, (text: string, file: string) => void][] = [
    ['one more record', (text, file) => write(file, text.replace('"a"', '"a" }, { "name": "mine"'))],
    ['a field of no meaning yet', (text, file) => write(file, text.replace('"a"', '"a", "admin": true'))],
    ['no MAC', (text, file) => write(file, text.replace(/,\s*"mac": "[^"]*"/, ''))],
    ['the MAC cut', (text, file) => write(file, text.replace(/"mac": "../, '"mac": "'))],
    ['an empty MAC', (text, file) => write(file, text.replace(/"mac": "[^"]*"/, '"mac": ""'))],
    ['another format', (_text, file) => write(file, '{"version":1,"items":[{"name":"mine"}]}')],
  ];

  it.each(forged)('(%s) confers nothing, and is kept and reported', async (_what, forge) => {
    const { folder, file, text } = await savedFolder();
    forge(text, file);
    expect(readFileSync(file, 'utf8')).not.toBe(text);
    await expectRefused(folder, /MAC is wrong|Invalid|its format is/);
  });

  it('overrides.json registrations.json: (another file of this home in its place) confers nothing', async () => {
    const { folder, file } = await savedFolder();
    const other = testAuthority(folder).records('others', schema);
    await other.change(() => [{ name: 'a' }]);
    renameSync(fileIn(folder, 'others'), file);
    await expectRefused(folder, 'MAC is wrong');
  });

  it('home.json: (the same file of another home, or under another master secret) confers nothing', async () => {
    const { folder } = await savedFolder();
    for (const parts of [
      { homeId: 'B'.repeat(22) },
      { master: async () => createSecretKey(Buffer.alloc(32, 8)) },
    ]) {
      const { authority, records } = await opened(folder, parts);
      await authority.verify();
      expect(() => records.items).toThrow(/MAC is wrong/);
    }
  });

  it('a forged file does not affect the other files', async () => {
    const { folder, file } = await savedFolder();
    write(file, '{"version":1,"items":[]}');
    const authority = testAuthority(folder);
    const [bad, good] = [authority.records('items', schema), authority.records('others', schema)];
    await good.change(() => [{ name: 'b' }]);
    expect(good.items).toEqual([{ name: 'b' }]);
    expect(bad.trouble).toBeDefined();
  });
});

describe('a file of another format', () => {
  it.each([
    [1, { items: [{ name: 'old' }] }],
    [2, { items: [{ name: 'old' }], mac: 'x'.repeat(43) }],
  ])('(%i) is refused, and left as it is', async (format, rest) => {
    const folder = temporaryFolder();
    const text = JSON.stringify({ version: format, ...rest });
    write(fileIn(folder), text);
    const { authority, records } = await opened(folder);
    await authority.verify();
    const error = expect.objectContaining({
      reason: 'file_unreadable',
      message: expect.stringContaining(`its format is ${format}, and this Keyturn knows 3`),
    });
    expect(() => records.shown).toThrow(error);
    expect(() => records.items).toThrow(error);
    expect(await refusal(records.change(() => []))).toEqual(error);
    expect(readFileSync(fileIn(folder), 'utf8')).toBe(text);
  });
});

describe('with the vault locked', () => {
  const locked = () => Promise.reject(new KeyturnError('locked', 'the vault is locked'));

  it('no record counts, and the records can still be listed', async () => {
    const { folder } = await savedFolder();
    const { authority, records } = await opened(folder, { master: locked });
    expect(await refusal(authority.verify())).toMatchObject({ reason: 'locked' });
    expect(() => records.items).toThrow(expect.objectContaining({ reason: 'file_unreadable' }));
    expect(records.shown).toEqual([{ name: 'a' }]);
    expect(records.trouble).toBeUndefined();
  });

  it('a change is refused with the vault’s own error, in memory and on disk, until the vault opens', async () => {
    const { folder, file, text } = await savedFolder();
    let isLocked = false;
    const master = async () => (isLocked ? locked() : createSecretKey(Buffer.alloc(32, 7)));
    const { authority, records } = await opened(folder, { master });
    await authority.verify();
    isLocked = true;
    const change = records.change((items) => [...items, { name: 'b' }]);
    expect(records.items).toEqual([{ name: 'a' }]);
    expect(await refusal(change)).toMatchObject({ reason: 'locked' });
    expect(records.items).toEqual([{ name: 'a' }]);
    expect(readFileSync(file, 'utf8')).toBe(text);
    isLocked = false;
    await records.change((items) => [...items, { name: 'b' }]);
    expect(records.items).toHaveLength(2);
  });
});

describe('changes', () => {
  it('changes at the same time are all kept, and the file has the newest state', async () => {
    const folder = temporaryFolder();
    const { records } = await opened(folder);
    const names = Array.from({ length: 50 }, (_, n) => ({ name: `${n}` }));
    await Promise.all(names.map((item) => records.change((items) => [...items, item])));
    const again = await opened(folder);
    await again.authority.verify();
    expect(again.records.items).toEqual(names);
    expect(readdirSync(folder)).toEqual(['items.json']);
  });

  it('that can’t be written are undone in memory, and each caller gets the error', async () => {
    const { folder, file, text } = await savedFolder();
    const { records } = await opened(folder);
    await records.verify();
    // A folder in the draft's place stops the write, even for root.
    mkdirSync(`${file}.new`);
    const lost = ['b', 'c'].map((name) => records.change((items) => [...items, { name }]));
    for (const error of await Promise.all(lost.map(refusal))) {
      expect(error).toMatchObject({
        reason: 'file_unreadable',
        message: expect.stringContaining("can't be written"),
        hint: expect.stringContaining('disk has room'),
      });
    }
    expect(records.items).toEqual([{ name: 'a' }]);
    expect(readFileSync(file, 'utf8')).toBe(text);
    rmSync(`${file}.new`, { recursive: true });
    await records.change((items) => [...items, { name: 'd' }]);
    expect(records.items).toEqual([{ name: 'a' }, { name: 'd' }]);
  });

  it('a change whose edit throws changes nothing', async () => {
    const { folder, text, file } = await savedFolder();
    const { records } = await opened(folder);
    const refused = records.change(() => {
      throw new KeyturnError('conflict', 'no');
    });
    expect(await refusal(refused)).toMatchObject({ reason: 'conflict' });
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});

describe('a file that can’t be read', () => {
  const unreadable: readonly [string, string, RegExp][] = [
    ['garbage', 'no json', /not JSON/],
    ['an empty file', '', /not JSON/],
    ['a cut file', '{"version":3,"items":[{"na', /not JSON/],
    [
      'another shape',
      '{"version":3,"edition":{"epoch":0,"id":"","from":""},"mac":"","items":[{"name":{"secret":"hush"}}]}',
      /items\.0\.name/,
    ],
    ['a newer format', '{"version":4,"items":{}}', /its format is 4, and this Keyturn knows 3/],
    ['a bare list', '[]', /can't be read/],
  ];

  it.each(unreadable)('(%s) is reported and left byte for byte', async (_name, text, words) => {
    const folder = temporaryFolder();
    write(fileIn(folder), text);
    await expectRefused(folder, words);
    const { records } = await opened(folder);
    expect(() => records.shown).toThrow(expect.objectContaining({ reason: 'file_unreadable' }));
    expect(records.isLoaded).toBe(false);
    expect(records.trouble?.why).not.toContain('hush');
  });

  it('PROMISE-9: (a folder in its place) is reported, not taken for absent', async () => {
    const folder = temporaryFolder();
    mkdirSync(fileIn(folder));
    const { authority, records } = await opened(folder);
    await authority.verify();
    expect(() => records.items).toThrow(/is not a plain file/);
  });

  it('(a symbolic link to a good one) is refused', async () => {
    const { folder, file } = await savedFolder();
    renameSync(file, path.join(folder, 'elsewhere'));
    symlinkSync('elsewhere', file);
    await expectRefused(folder, 'symbolic link');
  });

  it.each([0o640, 0o604, 0o620, 0o666])('(with mode %o) is refused with what mends it', async (mode) => {
    const { folder, file } = await savedFolder();
    chmodSync(file, mode);
    await expectRefused(folder, `0${mode.toString(8)}`);
    expect(statSync(file).mode & 0o777).toBe(mode);
    chmodSync(file, 0o600);
    const { authority, records } = await opened(folder);
    await authority.verify();
    expect(records.items).toEqual([{ name: 'a' }]);
  });

  it.runIf(process.getuid?.() === 0)('(of somebody else) is refused', async () => {
    const { folder, file } = await savedFolder();
    chownSync(file, 65534, 65534);
    const { authority, records } = await opened(folder);
    await authority.verify();
    expect(() => records.items).toThrow(/belongs to user 65534/);
  });

  it('an unreadable file is read again once it is mended', async () => {
    const { folder, file, text } = await savedFolder();
    write(file, 'garbage');
    const { authority, records } = await opened(folder);
    write(file, text);
    await records.load();
    await authority.verify();
    expect(records.items).toEqual([{ name: 'a' }]);
  });
});
