/** The rule table: whole, and about files that exist. That its proofs ran, scripts/test.mjs checks after a full run. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { proofsIn } from '../../scripts/conformance.mjs';

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

describe('docs/reliability.md', () => {
  const text = readFileSync(path.join(root, 'docs', 'reliability.md'), 'utf8');

  it('names tests for each of the eleven promises and for both doors, in files that have them', () => {
    const ids = [...text.matchAll(/^\| ([IS]-\d+) \|/gm)].map(([, id]) => id);
    const promises = Array.from({ length: 11 }, (_, n) => `I-${n + 1}`);
    expect(ids).toEqual([...promises, 'S-1', 'S-2', 'S-3', 'S-4']);
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
      'registrations.json',
      'settings.json',
      'home.json',
      'owner.key',
      'clients/NAME.key',
      'vault.sealed',
      'audit.jsonl, audit-NNNNNN.jsonl',
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

  /** A title that a table of cases fills in is found by a full run only. */
  function hasTitle({ file, title }: { readonly file: string; readonly title: string }): boolean {
    const source = readFileSync(path.join(root, file), 'utf8');
    return source.includes(title) || /%s|_name/.test(source);
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
