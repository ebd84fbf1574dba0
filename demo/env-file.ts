/**
 * `.demo.env`: how a second terminal finds the demo that is kept running.
 *
 * Invariant: one demo a folder has the file. It is taken before the demo begins, so that a second one can't take
 * it, and removed only by who took it; a file that a killed demo left behind is taken over.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface EnvFile {
  /** Writes the variables, for a shell to read. */
  write(variables: Readonly<Record<string, string>>): string;
  remove(): void;
}

/** Takes the file of this folder; a sentence where another demo has it. */
export function takeEnvFile(folder: string): EnvFile | string {
  const file = path.join(folder, '.demo.env');
  const header = `# Of the demo with process id ${process.pid}: removed when that ends.\n`;
  const holder = take(file, header) ? undefined : holderOf(file);
  if (holder !== undefined && isAlive(holder)) {
    return `another demo (process ${holder}) is kept running with ${file}; end it with Ctrl-C in its terminal`;
  }
  // Until then a command of that terminal must not begin a home of its own.
  const early = `export KEYTURN_HOME=/dev/null\necho 'The demo is not ready yet.' >&2\n`;
  writeFileSync(file, `${header}${early}`, { mode: 0o600 });
  return {
    write: (variables) => {
      const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}\n`);
      writeFileSync(file, `${header}${lines.join('')}`, { mode: 0o600 });
      return lines.join('');
    },
    remove: () => {
      if (holderOf(file) === process.pid) rmSync(file, { force: true });
    },
  };
}

/** False where there is one already. */
function take(file: string, header: string): boolean {
  try {
    writeFileSync(file, header, { mode: 0o600, flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}

function holderOf(file: string): number | undefined {
  try {
    const [, pid] = /process id (\d+)/.exec(readFileSync(file, 'utf8')) ?? [];
    return pid === undefined ? undefined : Number(pid);
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** One word for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
