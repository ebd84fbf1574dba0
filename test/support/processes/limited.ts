/** Runs full-disk.ts where the system refuses bytes beyond a limit, as a full disk does. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';

/** What was told of each replacement, and the file's text then; what was told of each setting, and what counts then. */
export function onFullDisk(file: string) {
  // `ulimit -f` stands for the full disk: the kernel refuses bytes beyond it, after a part of the write.
  const script = 'trap "" XFSZ; ulimit -f 100; exec "$0" "$1" "$2"';
  const child = path.join(import.meta.dirname, 'full-disk.ts');
  const output = execFileSync('bash', ['-c', script, process.execPath, child, file], { encoding: 'utf8' });
  // The child's own words, in the form that stands at its end.
  return JSON.parse(output) as Readonly<Record<'replaced' | 'settings', readonly string[]>> & {
    readonly stands: string;
  };
}
