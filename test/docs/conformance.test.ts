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
