/** The man pages say of every command what its statement says, and man shows them without a warning. */
import { writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { manualPages } from '../../scripts/packaging/manual.ts';
import { statements } from '../../src/cli/main.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type Statement } from '../../src/cli/terminal/statement.ts';

const all = await statements();
const edition = { version: '1.2.3', date: '2026-11-23' };
const hasMan = spawnSync('man', ['--version']).status === 0;

/** What no statement holds yet, and roff would take for its own. */
const trap: Statement = {
  name: 'trap',
  summary: '.so /etc/passwd',
  operands: [],
  options: {},
  about: String.raw`'\" t \fBbold\fR \n(.g ’ ~ ^`,
  notes: ['.sy reboot'],
  examples: [".de XX\n'br"],
};

const folder = temporaryFolder(afterAll);
for (const [name, text] of manualPages([...all, trap], edition)) writeFileSync(path.join(folder, name), text);

/**
 * The pages as groff formats them for man. man itself would start a dozen processes for each page. Without `columns`
 * each paragraph is one line.
 */
function formatted(names: Iterable<string>, columns = 2000): { text: string; warnings: string } {
  const files = Array.from(names, (name) => path.join(folder, name));
  const width = [`-rLL=${columns}n`, `-rLT=${columns}n`];
  const plain = ['-Tutf8', '-P-c', '-P-b', '-P-o', '-P-u'];
  const { status, stdout, stderr } = spawnSync(
    'groff',
    ['-K', 'utf8', '-t', '-man', '-ww', ...plain, ...width, ...files],
    { encoding: 'utf8' },
  );
  expect(status).toBe(0);
  return { text: stdout.replaceAll(/\s+/g, ' '), warnings: stderr };
}

describe.skipIf(!hasMan)('the man pages', () => {
  it('are shown by man without a warning, in 80 columns', () => {
    const names = [...manualPages([...all, trap], edition).keys()];
    expect(formatted(names, 80).warnings).toBe('');
    const files = ['keyturn.1', 'keyturn-trap.1'].map((name) => path.join(folder, name));
    const env = { ...process.env, MANWIDTH: '80', LC_ALL: 'C.UTF-8' };
    const { status, stderr } = spawnSync('man', ['--warnings', '-l', ...files], { encoding: 'utf8', env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('let no text of a statement become a request or an escape', () => {
    const { text, warnings } = formatted(['keyturn-trap.1']);
    expect(warnings).toBe('');
    for (const words of [trap.summary, trap.about, ...(trap.notes ?? []), ".de XX 'br"])
      expect(text).toContain(words);
  });
});
