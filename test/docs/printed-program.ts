/**
 * Runs a program of docs/servers/ as it is printed there, with our source in place of the installed package.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { until } from '../support/home.ts';
import { codeBlocks, page, root } from './pages.ts';

const pageOf: Readonly<Record<string, string>> = {
  '@keyturn/server': 'protected-server',
  '@keyturn/server/authorization': 'authorization-server',
  '@keyturn/server/third-party': 'third-party',
};

/** The first program that imports this subpath, on its page. */
const printedProgram = (subpath: string): string =>
  codeBlocks(page(`docs/servers/${pageOf[subpath] ?? subpath}.md`), 'ts').find((code) =>
    code.includes(`'${subpath}'`),
  ) ?? '';

/**
 * Starts the printed program of this subpath. Resolves when it listens at `url`.
 * `words`: its arguments; `{folder}` in them stands for its folder.
 */
export async function runPrinted(
  subpath: string,
  {
    words,
    url,
    env = {},
  }: { readonly words: readonly string[]; readonly url: string; readonly env?: NodeJS.ProcessEnv },
) {
  const folder = mkdtempSync(path.join(tmpdir(), 'kt-printed-'));
  const file = path.join(folder, 'server.mts');
  writeFileSync(file, printedProgram(subpath));
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  const program = spawn(process.execPath, [file, ...words.map((word) => word.replace('{folder}', folder))], {
    // A relative file of theirs lies in it.
    cwd: folder,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const close = (): void => {
    program.kill();
    rmSync(folder, { recursive: true });
  };
  try {
    await until('the program listens', () =>
      fetch(url).then(
        () => true,
        () => undefined,
      ),
    );
  } catch (error) {
    close();
    throw error;
  }
  return { folder, close };
}
