/** The lock of one file, and what may stand in the file's place. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { lockHolder } from '../../../src/daemon/home/lock-holder.ts';
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

it('the holder of a lock is the process that holds both the file and its folder', () => {
  const folder = temporaryFolder();
  const [state, locks] = [path.join(folder, 'state'), path.join(folder, 'locks')];
  const file = path.join(state, 'broker.lock');
  mkdirSync(state);
  writeFileSync(file, '99');
  const held = [
    [41, folder],
    [42, file],
    [43, file],
    [43, state],
    [44, state],
  ] as const;
  // As the kernel lists them: who locks which file.
  const lines = held.map(
    ([pid, at], index) => `${index + 1}: FLOCK  ADVISORY  WRITE ${pid} fe:00:${statSync(at).ino} 0 EOF\n`,
  );
  writeFileSync(locks, lines.join(''));
  expect(lockHolder(state, locks)).toBe(43);
});
