/** The lock of one file, and what may stand in the file's place. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { takeLock, tryLock } from '../../../src/daemon/home/single-instance.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

it('a lock is held by one, and free after its release', async () => {
  const file = path.join(temporaryFolder(), 'a.lock');
  const release = await tryLock(file);
  expect(release).toBeDefined();
  expect(await tryLock(file)).toBeUndefined();
  release?.();
  expect(await tryLock(file)).toBeDefined();
});

it('a home is held by one broker, also after its lock file was removed', async () => {
  const home = temporaryFolder();
  const release = await takeLock(home);
  rmSync(path.join(home, 'broker.lock'));
  await expect(takeLock(home)).rejects.toMatchObject({ reason: 'broker_running' });
  release();
  (await takeLock(home))();
});

it.each([
  ['a link', (file: string) => symlinkSync(`${file}.elsewhere`, file)],
  ['a folder', (file: string) => mkdirSync(file)],
  // Opened as a file, it would wait for a reader for ever.
  ['a pipe', (file: string) => void execFileSync('mkfifo', [file])],
])('a lock is refused where %s stands in its place', async (_what, put) => {
  const file = path.join(temporaryFolder(), 'a.lock');
  put(file);
  await expect(tryLock(file)).rejects.toMatchObject({ reason: 'file_unreadable' });
  expect(existsSync(`${file}.elsewhere`)).toBe(false);
});
