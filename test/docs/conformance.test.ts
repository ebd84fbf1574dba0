/** The rules: whole, and about files that exist. That each has a test that passes, scripts/test.mjs checks after a full run. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { rulesOf, unproven } from '../../scripts/conformance.mjs';

const root = path.join(import.meta.dirname, '..', '..');

describe('the check of the rules after a run', () => {
  /** What it says of D-3, owner.key and M-1 after these tests, and one that proves M-1. Each: its names and outcome. */
  function faults(tests: readonly (readonly [names: readonly string[], status: string])[]) {
    const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-rules-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(path.join(folder, 'dev'));
    writeFileSync(path.join(folder, 'dev/conformance.json'), '{ "rules": [{ "id": "D-3" }] }');
    writeFileSync(
      path.join(folder, 'dev/internals.md'),
      '| id | what holds |\n| --- | --- |\n| M-1 | asks |\n',
    );
    writeFileSync(path.join(folder, 'dev/state-files.md'), '| `owner.key`, `other.key` | nothing |\n');
    const proven = [['M-1: asks'], 'passed'] as const;
    const assertionResults = [...tests, proven].map(([names, status]) => ({
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
      'unknown rule D-33: test/a.test.ts › D-3 owner.key D-33: asks',
    ]);
  });
});

it('each rule has one id', () => {
  const ids = rulesOf(root);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  expect(ids.filter((id) => id.startsWith('PROMISE-'))).toHaveLength(11);
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
      'owner.key',
      'clients/NAME.key',
      'items/NAME',
      'audit.jsonl, audit-NNNNNN.jsonl',
      'desktop/command.json',
      'setup-N.sealed',
      'broker.lock',
      'broker.log',
    ]);
    expect(cells.filter((row) => row.length !== 4 || row.includes(''))).toEqual([]);
  });
});

describe('dev/conformance.json', () => {
  const text = z.string().min(1);
  const row = z.strictObject({
    id: z.string().regex(/^[A-Z]+-\d+$/),
    rule: text,
    where: z.array(text).min(1),
  });
  const { rules } = z
    .strictObject({ rules: z.array(row).min(250) })
    .parse(JSON.parse(readFileSync(path.join(root, 'dev', 'conformance.json'), 'utf8')));

  it('names only source files that exist', () => {
    const named = new Set(rules.flatMap(({ where }) => where));
    expect([...named].filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
  });
});
