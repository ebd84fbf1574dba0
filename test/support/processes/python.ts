/** The Python client (clients/python/keyturn.py), run by python3, which CONTRIBUTING.md asks for. */
import { execFile, execFileSync } from 'node:child_process';
import path from 'node:path';
import type { Run } from '../home.ts';

const folder = path.join(import.meta.dirname, '..', '..', '..', 'clients', 'python');

let found: string | undefined;

/** What `python3` runs: where that is a script which looks for it, each run takes ten times as long. */
export function python(): string {
  found ??= execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();
  return found;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs the file itself, as a user would in a terminal. */
export async function keyturnPy(args: readonly string[], env: Environment): Promise<Run> {
  return run([path.join(folder, 'keyturn.py'), ...args], env);
}

/** Runs a program that imports it. `between` is called when it printed its first line; then it can read one. */
export async function pythonProgram(
  code: string,
  args: readonly string[],
  env: Environment,
  between?: () => Promise<unknown>,
): Promise<Run> {
  return run(['-c', code, ...args], env, between);
}

async function run(
  args: readonly string[],
  env: Environment,
  between: () => Promise<unknown> = async () => undefined,
): Promise<Run> {
  const { promise, resolve, reject } = Promise.withResolvers<Run>();
  const child = execFile(
    python(),
    // -B: no compiled file beside the source.
    ['-B', ...args],
    { env: { PATH: process.env['PATH'], ...env, PYTHONPATH: folder } },
    (error, stdout, stderr) => {
      const code = error?.code;
      if (error && typeof code !== 'number') reject(error);
      else resolve({ code: typeof code === 'number' ? code : 0, stdout, stderr });
    },
  );
  // A program that reads nothing may be gone by then.
  child.stdin?.on('error', () => undefined);
  child.stdout?.once('data', () => void between().then(() => child.stdin?.end('\n'), reject));
  return promise;
}
