/** A file that only grows: what a failed append leaves, and how a torn tail is cut off. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { AppendOnlyEnd, cutTornTail } from '../../src/base/append-only.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const handles: FileHandle[] = [];
afterEach(async () => {
  for (const handle of handles.splice(0)) await handle.close();
});

/** A file with this text, opened by `flags`. */
async function opened(text: string, flags = 'r+'): Promise<{ file: string; handle: FileHandle }> {
  const file = path.join(temporaryFolder(), 'log');
  writeFileSync(file, text, { mode: 0o600 });
  return { file, handle: await reopened(file, flags) };
}

async function reopened(file: string, flags: string): Promise<FileHandle> {
  const handle = await open(file, flags);
  handles.push(handle);
  return handle;
}

describe('an append', () => {
  it.each(['r+', 'a'])('an append adds its bytes at the end of a file opened by %s', async (flags) => {
    const { file, handle } = await opened('one\n', flags);
    const end = new AppendOnlyEnd(4);
    await end.append(handle, Buffer.from('two\n'));
    await end.append(handle, Buffer.from('three\n'));
    expect(readFileSync(file, 'utf8')).toBe('one\ntwo\nthree\n');
    expect(end.size).toBe(14);
  });

  it('cuts off at once an append that the check refuses', async () => {
    const { file, handle } = await opened('one\n');
    const end = new AppendOnlyEnd(4);
    const refused = end.append(handle, Buffer.from('two\n'), () =>
      Promise.reject(new Error('not as written')),
    );
    await expect(refused).rejects.toThrow('not as written');
    expect(readFileSync(file, 'utf8')).toBe('one\n');
    expect(end.isAsLeft(4)).toBe(true);
    expect(end.isAsLeft(8)).toBe(false);
  });

  it('cuts off a failed append before the next one if it could not be cut off at once', async () => {
    const { file, handle } = await opened('one\n');
    const end = new AppendOnlyEnd(4);
    const readOnly = await reopened(file, 'r');
    await expect(end.append(readOnly, Buffer.from('two\n'))).rejects.toThrow('EBADF');
    writeFileSync(file, 'one\nhalf of tw');
    expect(end.isAsLeft(statSync(file).size)).toBe(true);
    expect(end.isAsLeft(3)).toBe(false);
    await end.append(handle, Buffer.from('2\n'));
    expect(readFileSync(file, 'utf8')).toBe('one\n2\n');
    expect(end.isAsLeft(6)).toBe(true);
    expect(end.isAsLeft(7)).toBe(false);
  });
});

describe('a torn tail', () => {
  it('saves a torn tail beside the file, readable by the owner only, and cuts it off', async () => {
    const { file, handle } = await opened('one\ntw');
    const aside = await cutTornTail(file, handle, 4, Buffer.from('tw'));
    expect(readFileSync(file, 'utf8')).toBe('one\n');
    expect(readFileSync(aside, 'utf8')).toBe('tw');
    expect(statSync(aside).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.dirname(file)).toSorted()).toEqual(['log', path.basename(aside)]);
  });
});
