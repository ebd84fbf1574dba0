/** The interpreter that `python3` runs: where that is a script which looks for it, each run takes ten times as long. */
import { execFileSync } from 'node:child_process';

let found: string | undefined;

export function python(): string {
  found ??= execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();
  return found;
}
