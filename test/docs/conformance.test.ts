/** The tables of rules: whole, and about files that exist. That each rule has a test that passes, scripts/test.mjs checks after a full run. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { rulesIn, unproven } from '../../scripts/conformance.mjs';

const root = path.join(import.meta.dirname, '..', '..');
const table = readFileSync(path.join(root, 'dev', 'conformance.md'), 'utf8');

const rows = table
  .split('\n')
  .filter((line) => /^\| [A-Z]+-\d/.test(line))
  .map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe('the check of the rules after a run', () => {
  /** What it says of the rules D-3 and owner.key, after a run of these tests: their names and what became of them. */
  function faults(tests: readonly (readonly [names: readonly string[], status: string])[]) {
    const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-rules-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(path.join(folder, 'docs'));
    mkdirSync(path.join(folder, 'dev'));
    writeFileSync(path.join(folder, 'dev/conformance.md'), '| id | rule |\n| --- | --- |\n| D-3 | asks |\n');
    writeFileSync(path.join(folder, 'dev/reliability.md'), '');
    writeFileSync(path.join(folder, 'dev/state-files.md'), '| `owner.key`, `other.key` | nothing |\n');
    const assertionResults = tests.map(([names, status]) => ({
      ancestorTitles: names.slice(0, -1),
      title: names.at(-1),
      status,
    }));
    return unproven(folder, {
      testResults: [{ name: path.join(folder, 'test/a.test.ts'), assertionResults }],
    });
  }

  it.each([
    [
      'two tests',
      [
        [['D-3: asks'], 'passed'],
        [['a file', 'owner.key: is kept'], 'passed'],
      ],
    ],
    ['one test', [[['D-3 owner.key: asks'], 'passed']]],
    [
      'a describe',
      [
        [['owner.key D-3: a thing', 'asks'], 'passed'],
        [['D-3: asks again'], 'pending'],
      ],
    ],
  ] as const)('accepts rules that are named by %s', (_by, tests) => {
    expect(faults(tests)).toEqual([]);
  });

  it.each([
    ['has no test', []],
    ['has a test that failed', [[['D-3: asks'], 'failed']]],
    ['has a test that was skipped', [[['D-3: asks'], 'pending']]],
    ['is named inside a title', [[['asks as D-3: says'], 'passed']]],
  ] as const)('names a rule that %s', (_what, tests) => {
    expect(faults([[['owner.key: is kept'], 'passed'], ...tests])).toEqual([
      'no test that proves D-3 passed',
    ]);
  });

  it('names the test that claims an unknown rule', () => {
    expect(faults([[['D-3 owner.key D-33: asks'], 'passed']])).toEqual([
      'no table has the rule D-33: test/a.test.ts › D-3 owner.key D-33: asks',
    ]);
  });
});

it('the tables name each rule once', () => {
  const pages = ['dev/conformance.md', 'dev/reliability.md', 'dev/state-files.md'];
  const ids = pages.flatMap((page) => rulesIn(readFileSync(path.join(root, page), 'utf8')));
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});

describe('dev/state-files.md', () => {
  const text = readFileSync(path.join(root, 'dev', 'state-files.md'), 'utf8');
  const [, section = ''] = text.split(/^\| file \| by writing it .*$/m);
  const [body = ''] = section.split(/^$/m);
  const cells = body
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim())
        .slice(1, -1),
    );

  it('has all files of a home, each with what can be won in three ways', () => {
    const named = cells.map(([file = '']) => file.replaceAll('`', ''));
    expect(named).toEqual([
      'authority.json',
      'settings.json',
      'preferences.json',
      'home.json',
      'owner.key',
      'clients/NAME.key',
      'items/NAME',
      'audit.jsonl, audit-NNNNNN.jsonl',
      'desktop/command.json',
      'setup-N.sealed',
      'daemon.lock',
      'daemon.log',
    ]);
    expect(cells.filter((row) => row.length !== 4 || row.includes(''))).toEqual([]);
  });
});

describe('dev/conformance.md', () => {
  it('has no empty cell', () => {
    expect(rows.length).toBeGreaterThan(90);
    expect(rows.filter((cells) => cells.length !== 3 || cells.includes(''))).toEqual([]);
  });

  it('names only source files that exist', () => {
    const named = rows.flatMap(([, , where = '']) =>
      where.split(',').map((file) => file.trim().split(' ')[0] ?? ''),
    );
    expect([...new Set(named)].filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
  });
});
