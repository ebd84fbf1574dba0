/** Files of the home: read only if no other user has access, replaced whole or not at all. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkFileIfAny, readPrivate, replaceFile, takePlace } from '../../src/base/private/private-file.ts';
import { refusal } from '../broker/rig.ts';
import { onFullDisk } from '../support/processes/limited.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const isRoot = process.getuid?.() === 0;

function fileOf(text?: string): string {
  const folder = temporaryFolder();
  const file = path.join(folder, "it's a file");
  if (text !== undefined) writeFileSync(file, text, { mode: 0o600 });
  return file;
}

describe('a file of the home', () => {
  it('reads a private file, and calls it absent only if it certainly is', async () => {
    expect((await readPrivate(fileOf('text')))?.toString()).toBe('text');
    expect(await readPrivate(fileOf())).toBeUndefined();
    await checkFileIfAny(fileOf());
  });

  it.each([0o640, 0o604, 0o660, 0o700, 0o4600])(
    'refuses a private file with mode %o, with a hint that fixes it',
    async (mode) => {
      const file = fileOf('text');
      chmodSync(file, mode);
      for (const error of [await refusal(readPrivate(file)), await refusal(checkFileIfAny(file))]) {
        expect(error).toMatchObject({ reason: 'file_unreadable', rule: expect.stringContaining('0600') });
        const { hint } = error as { hint: string };
        const command = hint.slice(hint.indexOf('chmod'));
        chmodSync(file, mode);
        execFileSync('sh', ['-c', command]);
        expect(statSync(file).mode & 0o7777).toBe(0o600);
        chmodSync(file, mode);
      }
    },
  );

  it('refuses a symbolic link, whether its target is good or missing', async () => {
    for (const target of [fileOf('text'), '/nowhere']) {
      const file = fileOf();
      symlinkSync(target, file);
      expect(await refusal(readPrivate(file))).toMatchObject({
        message: expect.stringContaining('symbolic'),
      });
      expect(await refusal(checkFileIfAny(file))).toMatchObject({
        hint: expect.stringContaining('move it away: mv '),
      });
    }
  });

  it('refuses a folder or a pipe, and waits for no writer', async () => {
    const folder = fileOf();
    mkdirSync(folder, { mode: 0o700 });
    const pipe = fileOf();
    execFileSync('mkfifo', ['-m', '600', pipe]);
    for (const file of [folder, pipe]) {
      expect(await refusal(readPrivate(file))).toMatchObject({
        message: expect.stringContaining('is not a plain file'),
      });
    }
  });

  it('refuses one that is far too large for Keyturn to have written', async () => {
    const file = fileOf('text');
    truncateSync(file, 64 * 1024 * 1024 + 1);
    await expect(readPrivate(file)).rejects.toMatchObject({
      message: expect.stringContaining('larger than'),
    });
  });

  it.runIf(isRoot)('refuses a private file that belongs to another user', async () => {
    const file = fileOf('text');
    chownSync(file, 65534, 65534);
    expect(await refusal(readPrivate(file))).toMatchObject({
      reason: 'file_unreadable',
      message: expect.stringContaining('belongs to user 65534'),
    });
  });
});

describe('a replacement', () => {
  it('creates or replaces a file that only the user can read and write', async () => {
    const file = fileOf();
    await replaceFile(file, 'one');
    await replaceFile(file, 'two');
    expect(readFileSync(file, 'utf8')).toBe('two');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.dirname(file))).toHaveLength(1);
  });

  it('replaces a symbolic link and leaves its target unchanged', async () => {
    const [file, other] = [fileOf(), fileOf('theirs')];
    symlinkSync(other, file);
    await replaceFile(file, 'ours');
    expect(readFileSync(file, 'utf8')).toBe('ours');
    expect(readFileSync(other, 'utf8')).toBe('theirs');
  });

  it('on a full disk leaves the old file whole', () => {
    const script = path.join(import.meta.dirname, '..', 'support', 'processes', 'full-disk.ts');
    const told = onFullDisk(100, script, fileOf());
    const { replaced, stands } = JSON.parse(told) as Record<'replaced' | 'stands', unknown>;
    expect(replaced).toEqual(['kept', expect.stringContaining("can't be written (EFBIG)")]);
    expect(stands).toBe('old');
  });
});

const busy = (code: string): Error => Object.assign(new Error(code), { code });
/** Refused so many times, and how often it was tried. */
async function tried(times: number, platform: NodeJS.Platform, code = 'EPERM'): Promise<[string, number]> {
  let tries = 0;
  const move = async (): Promise<void> => {
    tries += 1;
    if (tries <= times) throw busy(code);
  };
  const outcome = await takePlace('a.new', 'a', { platform, move, pause: async () => undefined }).then(
    () => 'done',
    (error: unknown) => (error as Error).message,
  );
  return [outcome, tries];
}

it('a file that is held is replaced on Windows as soon as it is free, within a second', async () => {
  expect(await tried(3, 'win32')).toEqual(['done', 4]);
  expect(await tried(3, 'win32', 'EBUSY')).toEqual(['done', 4]);
  expect(await tried(99, 'win32')).toEqual(['EPERM', 21]);
  expect(await tried(3, 'win32', 'ENOSPC')).toEqual(['ENOSPC', 1]);
  expect(await tried(3, 'linux')).toEqual(['EPERM', 1]);
});
