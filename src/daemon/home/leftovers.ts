/**
 * Files that a crash leaves in the home.
 *
 * Invariant: only drafts that never replaced their file are removed, and only under the home's lock.
 */
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { HomePaths } from '../../base/paths.ts';
import { draftedFile } from '../../base/private/private-file.ts';

/** The files whose drafts are ours. */
const drafted = /^(document\.json|settings\.json|owner\.key|broker\.path|root|newest|[skc]-[\w-]{22})$/;

/** The caller holds the lock. Never fails: a file that can't be removed is named in the log. */
export async function clearLeftovers(paths: HomePaths, log: (line: string) => void): Promise<void> {
  for (const folder of [paths.config, paths.state, path.join(paths.state, 'items')]) {
    for (const name of await readdir(folder).catch(() => [])) {
      const file = path.join(folder, name);
      if (!drafted.test(draftedFile(name) ?? '')) continue;
      await rm(file).catch(() => log(`${file}, which a crash left, could not be removed`));
    }
  }
}
