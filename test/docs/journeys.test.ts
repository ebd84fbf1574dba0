/** docs/journeys/: each page is walked by a test of its name, and counts its commands rightly. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { codeBlocks, pages, root, tableRows } from './pages.ts';

const journeys = pages().filter(({ name }) => /^docs\/journeys\/[a-z]/.test(name));

it('finds the journeys', () => {
  expect(journeys.length).toBeGreaterThan(5);
});

it.each(journeys.map((page) => [page.name, page] as const))(
  '%s says how many commands it has, and a test walks it',
  (name, page) => {
    const [, commands, answers] = tableRows(page.text).find(([title]) => title === 'in all') ?? [];
    const lines = codeBlocks(page, 'sh').flatMap((code) => code.split('\n'));
    expect(Number(commands)).toBe(lines.filter((line) => line.startsWith('keyturn ')).length);
    expect(Number(answers)).toBeGreaterThanOrEqual(
      lines.filter((line) => line.startsWith('keyturn answer ')).length,
    );
    expect(existsSync(path.join(root, 'test/e2e/journeys', `${path.basename(name, '.md')}.test.ts`))).toBe(
      true,
    );
  },
);
