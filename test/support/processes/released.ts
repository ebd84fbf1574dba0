/** A clone of this repository's last commit, in which `npm run release` runs; it ends with the test. */
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { temporaryFolder } from '../temporary-folder.ts';

const root = path.join(import.meta.dirname, '..', '..', '..');

export function cloned() {
  const folder = path.join(temporaryFolder(), 'clone');
  execFileSync('git', ['clone', '--quiet', '--no-tags', '--depth', '1', `file://${root}`, folder]);
  // As a link it isn't the folder that .gitignore names.
  appendFileSync(path.join(folder, '.git', 'info', 'exclude'), 'node_modules\n');
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  return {
    folder,
    git: (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }),
    /** `npm run release`; without the set-up before it, which builds, unless told. */
    release({ withSetUp } = { withSetUp: false }) {
      const script = path.join('scripts', 'release.ts');
      const words = withSetUp ? [path.join('scripts', 'setup.mjs'), '--run', script] : [script];
      const { status, stdout, stderr } = spawnSync(process.execPath, words, {
        cwd: folder,
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
      });
      return { code: status, stdout, stderr };
    },
  };
}
