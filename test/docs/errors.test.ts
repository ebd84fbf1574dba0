/** docs/reference/errors.md is the published table of reasons: it and src/base/errors.ts say the same. */
import { expect, it } from 'vitest';
import { exitCodes, isReason, reasons } from '../../src/base/errors.ts';
import { page, section, tableRows } from './pages.ts';

const rows = tableRows(page('docs/reference/errors.md').text).slice(2);

it('lists every reason once, with its code and exit code', () => {
  const documented = rows.map(([reason = '', code, exit]) => ({
    reason: reason.replaceAll('`', ''),
    code: Number(code),
    exit: Number(exit),
  }));
  const stated = Object.entries(reasons).map(([reason, { code, exit }]) => ({ reason, code, exit }));
  const byName = (a: { reason: string }, b: { reason: string }): number => a.reason.localeCompare(b.reason);
  expect(documented.toSorted(byName)).toEqual(stated.toSorted(byName));
});

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

it('lists every exit code in docs/reference/cli.md', () => {
  const listed = tableRows(section(page('docs/reference/cli.md'), 'Exit codes'))
    .slice(2)
    .map(([code]) => Number(code));
  expect(listed).toEqual(Object.values(exitCodes));
});

it('has headings for reasons only in docs/guides/troubleshooting.md, each once', () => {
  const headings = [...page('docs/guides/troubleshooting.md').text.matchAll(/^## (.*)$/gm)];
  const [first, ...named] = headings.flatMap(([, heading = '']) => heading.split(', '));
  expect(first).toBe('Look first');
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !isReason(name))).toEqual([]);
  expect(new Set(named).size).toBe(named.length);
});
