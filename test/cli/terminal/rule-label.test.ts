/** Rules of standards in a user's words. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { labelOf } from '../../../src/cli/terminal/rule-label.ts';

const root = path.join(import.meta.dirname, '..', '..', '..');

/** Every rule that the source writes down. */
const rules = globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
  [...readFileSync(path.join(root, file), 'utf8').matchAll(/\brule: '((?:[^'\\]|\\.)*)'/g)].map(
    ([, rule = '']) => rule,
  ),
);

it('the label of a rule has words for every rule, and an address for every standard', () => {
  expect(rules.length).toBeGreaterThan(80);
  for (const rule of new Set(rules)) {
    const { text, readOn } = labelOf(rule);
    const words = text.replaceAll(/\([^)]*\)/g, '').match(/\b[a-z]{2,}\b/g) ?? [];
    expect(words.length, text).toBeGreaterThan(3);
    expect(readOn !== undefined, rule).toBe(/RFC|OAuth 2|OpenID|draft-/.test(rule));
  }
});
