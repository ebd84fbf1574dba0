/** Builds dist/ once before the tests that run it, if a source file is newer. */
import { execFileSync } from 'node:child_process';
import { globSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..', '..');

const folders = ['src', 'electron', 'renderer', 'words'];

/** The command as it is built. */
export const builtBin = path.join(root, 'dist', 'cli', 'bin.js');

export default function build(): void {
  if (!isStale()) return;
  try {
    // Vitest sets NODE_ENV to `test`, with which the page would be built for development.
    const { NODE_ENV: _, ...env } = process.env;
    execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit', env });
  } catch (error) {
    // The compiler writes files even where it found errors; those must not pass for a build next time.
    rmSync(builtBin, { force: true });
    throw error;
  }
}

function isStale(): boolean {
  const built = statSync(builtBin, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  // Folders too: a removed file leaves only its folder's time behind.
  const sources = globSync([...folders, ...folders.map((name) => `${name}/**`), 'tsconfig*.json'], {
    cwd: root,
  });
  return sources.some((file) => statSync(path.join(root, file)).mtimeMs > built);
}
