/** The rule table: whole, and about files that exist. That its proofs ran, scripts/test.mjs checks after a full run. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { proofsIn, unproven } from '../../scripts/conformance.mjs';
import type { Proof } from '../../scripts/conformance.mjs';

const root = path.join(import.meta.dirname, '..', '..');
const table = readFileSync(path.join(root, 'docs', 'conformance.md'), 'utf8');

const rows = table
  .split('\n')
  .filter((line) => /^\| [A-Z]+-\d/.test(line))
  .map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe('the check of the proofs after a run', () => {
  /** What it says of one row, after a run of these tests of `test/a.test.ts`: their names and what became of them. */
  function faults(row: string, tests: readonly (readonly [names: readonly string[], status: string])[]) {
    const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-proofs-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(path.join(folder, 'docs'));
    for (const page of ['docs/reliability.md', 'SECURITY.md']) writeFileSync(path.join(folder, page), '');
    writeFileSync(path.join(folder, 'docs/conformance.md'), `| X-1 | ${row} |\n`);
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
    ['by its title alone', 'test/a.test.ts › is right'],
    ['by its describe and title', 'test/a.test.ts › a thing › is right'],
    ['by all its describes', 'test/a.test.ts › things › a thing › is right'],
  ])('accepts a proof that names one passed test %s', (_how, row) => {
    expect(faults(row, [[['things', 'a  thing', 'is right '], 'passed']])).toEqual([]);
  });

  it.each([
    ['that is missing', [], 'that no test has'],
    ['whose test failed', [[['a thing', 'is right'], 'failed']], 'that did not pass'],
    ['whose test was skipped', [[['a thing', 'is right'], 'pending']], 'that did not pass'],
  ] as const)('names a proof %s', (_which, tests, said) => {
    const proof = 'test/a.test.ts › a thing › is right';
    expect(faults(proof, tests)).toEqual([`docs/conformance.md names a proof ${said}: ${proof}`]);
  });

  it('names a proof whose title is that of another describe', () => {
    const proof = 'test/a.test.ts › a thing › is right';
    const tests = [[['another thing', 'is right'], 'passed']] as const;
    expect(faults(proof, tests)).toEqual([`docs/conformance.md names a proof that no test has: ${proof}`]);
  });

  it('wants the describe where the title fits two tests, also where one was skipped', () => {
    const tests = [
      [['a thing', 'is right'], 'passed'],
      [['another thing', 'is right'], 'pending'],
    ] as const;
    expect(faults('test/a.test.ts › is right', tests)).toEqual([
      'docs/conformance.md names a proof that fits several tests, so write their describe before the title: test/a.test.ts › is right',
    ]);
    expect(faults('test/a.test.ts › a thing › is right', tests)).toEqual([]);
  });

  it('names two tests of one describe with one title, whether or not a table names them', () => {
    const tests = [
      [['a thing', 'is right'], 'passed'],
      [['a thing', 'is wrong'], 'passed'],
      [['a thing', 'is wrong'], 'passed'],
    ] as const;
    expect(faults('test/a.test.ts › is right', tests)).toEqual([
      'two tests have one name: test/a.test.ts › a thing › is wrong',
    ]);
  });
});

describe('docs/reliability.md', () => {
  const text = readFileSync(path.join(root, 'docs', 'reliability.md'), 'utf8');

  it('names tests for each of the eleven promises and for every door, in files that have them', () => {
    const ids = [...text.matchAll(/^\| ([IS]-\d+) \|/gm)].map(([, id]) => id);
    const promises = Array.from({ length: 11 }, (_, n) => `I-${n + 1}`);
    expect(ids).toEqual([...promises, 'S-1', 'S-2', 'S-3', 'S-4', 'S-5', 'S-6']);
    for (const row of text.split('\n').filter((line) => /^\| [IS]-/.test(line))) {
      const proofs = proofsIn(row);
      expect(proofs.length).toBeGreaterThan(2);
      const gone = proofs.filter(({ file }) => !existsSync(path.join(root, file)));
      expect(gone).toEqual([]);
    }
  });
});

describe('the state files of SECURITY.md', () => {
  const text = readFileSync(path.join(root, 'SECURITY.md'), 'utf8');
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

  it('are all files of a home, each with what can be won in three ways', () => {
    const named = cells.map(([file = '']) => file.replaceAll('`', ''));
    expect(named).toEqual([
      'grants.jsonl',
      'clients.json',
      'permissions.json',
      'overrides.json',
      'proxies.json',
      'keys.json',
      'folders.json',
      'registrations.json',
      'settings.json',
      'preferences.json',
      'home.json',
      'owner.key',
      'clients/NAME.key',
      'vault.sealed',
      'audit.jsonl, audit-NNNNNN.jsonl',
      'desktop/command.json',
      'setup-N.sealed',
      'daemon.lock',
      'daemon.log',
    ]);
    expect(cells.filter((row) => row.length !== 5 || row.includes(''))).toEqual([]);
  });

  it('name tests that try it, in files that have them', () => {
    for (const [file = '', , , , proof = ''] of cells) {
      const proofs = proofsIn(`| ${proof} |`);
      expect(proofs.length, file).toBeGreaterThan(0);
      expect(proofs.filter((one) => !hasTitle(one))).toEqual([]);
    }
  });

  /** A name that a table of cases fills in is found by a full run only. */
  function hasTitle({ file, describes, title }: Proof): boolean {
    const source = readFileSync(path.join(root, file), 'utf8');
    return [...describes, title].every((name) => source.includes(name)) || /%s|_name/.test(source);
  }
});

describe('docs/conformance.md', () => {
  it('has no empty cell', () => {
    expect(rows.length).toBeGreaterThan(90);
    expect(rows.filter((cells) => cells.length !== 4 || cells.includes(''))).toEqual([]);
  });

  it('names each rule once', () => {
    const ids = rows.map(([id]) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  it('names a proof for each rule', () => {
    const bare = rows.filter((cells) => proofsIn(`| ${cells[3]} |`).length === 0);
    expect(bare.map(([id]) => id)).toEqual([]);
  });

  it('names only source and test files that exist', () => {
    const named = rows.flatMap(([, , where = '', proof = '']) => [
      ...where.split(',').map((file) => file.trim().split(' ')[0] ?? ''),
      ...proofsIn(`| ${proof} |`).map(({ file }) => file),
    ]);
    expect([...new Set(named)].filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
  });
});
