/** docs/reference/errors.md says what each reason means; `npm run docs` writes its codes. */
import { expect, it } from 'vitest';
import { isReason, reasons } from '../../src/base/errors.ts';
import { page, tableRows } from './pages.ts';

const rows = tableRows(page('docs/reference/errors.md').text).slice(2);

it.each(rows.map((row): [string, string[]] => [row[0] ?? '', row]))(
  'says what %s means and what to do, in sentences',
  (_reason, [, , , meaning = '', advice = '']) => {
    for (const text of [meaning, advice]) expect(text).toMatch(/^[A-Z`].{15,}\.$/);
  },
);

it('gives each reason a JSON-RPC code of its own', () => {
  const codes = Object.values(reasons).map(({ code }) => code);
  expect(new Set(codes).size).toBe(codes.length);
  expect(isReason('internal')).toBe(true);
});

it('has headings for reasons only in docs/guides/troubleshooting.md, each once', () => {
  const headings = [...page('docs/guides/troubleshooting.md').text.matchAll(/^## (.*)$/gm)];
  const [first, ...named] = headings.flatMap(([, heading = '']) => heading.split(', '));
  expect(first).toBe('Look first');
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !isReason(name))).toEqual([]);
  expect(new Set(named).size).toBe(named.length);
});
