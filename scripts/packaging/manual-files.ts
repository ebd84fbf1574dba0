/** The man pages of this checkout as files, for the npm package and beside the program of one file. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { statements } from '../../src/cli/main.ts';
import { manualPages } from './manual.ts';
import { root, version } from './program.ts';

/** With the day of the commit. Answers the names of the files. */
export async function writeManual(folder: string): Promise<string[]> {
  mkdirSync(folder, { recursive: true });
  const date = execFileSync('git', ['log', '-1', '--format=%cs'], { cwd: root, encoding: 'utf8' }).trim();
  const pages = manualPages(await statements(), { version, date });
  for (const [name, text] of pages) writeFileSync(path.join(folder, name), text);
  return [...pages.keys()];
}
