/**
 * Tokens as files, for an app that reads its credential from a path, again and again.
 *
 * Invariants: the files are in memory (tmpfs), in a folder that only their user may enter, 0600. A file is replaced
 * whole. They are removed when this process ends; those of a process that was killed are removed by the next one.
 */
import type { BigIntStats } from 'node:fs';
import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import path from 'node:path';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { checkPrivate } from '../../base/private/private-check.ts';
import { replaceFileAtOnce } from '../../base/private/private-file.ts';
import { liesInMemory } from '../../base/private/private-folder.ts';
import { systemCode } from '../../base/system-error.ts';
import { tryLock } from '../../daemon/home/single-instance.ts';

const prefix = 'keyturn-exec-';
/** No variable has such a name: each variable's file is called as it is. */
const lockName = '.lock';

export class TokenFiles {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Throws `file_unreadable` where there is no folder in memory that only the user can read. */
  static async make(runtime = process.env['XDG_RUNTIME_DIR']): Promise<TokenFiles> {
    const base = checked(runtime);
    await removeStale(base);
    for (;;) {
      const folder = mkdtempSync(path.join(base, prefix));
      // Held until this process ends, however it ends. The clean-up of another process may have been faster: then it
      // removes this folder.
      const release = await tryLock(path.join(folder, lockName));
      if (release && existsSync(folder)) {
        const files = new TokenFiles(folder);
        process.once('exit', () => files.remove());
        return files;
      }
      release?.();
    }
  }

  /** Answers the path. */
  write(name: string, token: string): string {
    const file = path.join(this.#folder, name);
    replaceFileAtOnce(file, token);
    return file;
  }

  /** Race: another process that cleans up may have made the lock again. Then it removes the folder. */
  remove(): void {
    try {
      rmSync(this.#folder, { recursive: true, force: true });
    } catch (error) {
      if (systemCode(error) !== 'ENOTEMPTY') throw error;
    }
  }
}

/** In memory on Linux, for all users: a session such as cron's has no runtime folder. */
const shared = '/dev/shm';

/** Root's, and sticky: nobody can put another folder in the place of ours. */
const isSticky = ({ uid, mode }: BigIntStats): boolean => uid === 0n && (mode & 0o1000n) !== 0n;

function checked(runtime: string | undefined): string {
  const base = runtime || shared;
  if (!path.isAbsolute(base)) throw noMemory('XDG_RUNTIME_DIR names no folder');
  try {
    const found = lstatSync(base, { bigint: true });
    if (base !== shared) checkPrivate(found, base, 'stateFolder');
    else if (!isSticky(found)) throw noMemory(`${quoted(base)} is not root's, or not sticky`);
    if (liesInMemory(statfsSync(base))) return base;
  } catch (error) {
    if (error instanceof KeyturnError) throw error;
    throw noMemory(`${quoted(base)} can't be looked at (${systemCode(error)})`);
  }
  throw noMemory(`${quoted(base)} is on a disk`);
}

function noMemory(problem: string): KeyturnError {
  return new KeyturnError('file_unreadable', `There is no place in memory for a token: ${problem}.`, {
    rule: 'A token is written to no disk',
    hint: 'Use --env instead of --file; or log in by a session that sets XDG_RUNTIME_DIR to your own tmpfs (0700).',
  });
}

/** Removes what processes left that were killed: nobody holds their locks any longer. */
async function removeStale(base: string): Promise<void> {
  for (const entry of readdirSync(base, { withFileTypes: true })) {
    if (!entry.isDirectory() || !entry.name.startsWith(prefix)) continue;
    const folder = path.join(base, entry.name);
    try {
      // In the shared folder, others have theirs.
      checkPrivate(lstatSync(folder, { bigint: true }), folder, 'stateFolder');
      // Without a lock: its process has just made it, or is removing it.
      if (!existsSync(path.join(folder, lockName))) continue;
      const release = await tryLock(path.join(folder, lockName));
      if (!release) continue;
      rmSync(folder, { recursive: true, force: true });
      release();
    } catch {
      // It went away in between, or it isn't ours.
    }
  }
}
