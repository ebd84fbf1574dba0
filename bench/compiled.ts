/** The contenders that are written in C, where the machine has a compiler. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';

/** The program of `NAME.c`, put into `folder`. Undefined where there is no C compiler. */
export function compiled(folder: string, name: string): string | undefined {
  const program = path.join(folder, name);
  const source = path.join(import.meta.dirname, `${name}.c`);
  try {
    execFileSync('cc', ['-O2', '-o', program, source, '-ldl'], { stdio: 'ignore' });
    return program;
  } catch {
    return undefined;
  }
}
