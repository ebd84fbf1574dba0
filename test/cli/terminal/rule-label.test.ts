/** Rules of standards in a person's words. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { labelOf } from '../../../src/cli/terminal/rule-label.ts';

const root = path.join(import.meta.dirname, '..', '..', '..');

/** Every rule that the source writes down. */
const rules = globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
  [...readFileSync(path.join(root, file), 'utf8').matchAll(/\brule: '((?:[^'\\]|\\.)*)'/g)].map(
    ([, rule = '']) => rule,
  ),
);

describe('the label of a rule', () => {
  it('has words for every rule, and an address for every standard', () => {
    expect(rules.length).toBeGreaterThan(80);
    for (const rule of new Set(rules)) {
      const { text, readOn } = labelOf(rule);
      const words = text.replaceAll(/\([^)]*\)/g, '').match(/\b[a-z]{2,}\b/g) ?? [];
      expect(words.length, text).toBeGreaterThan(3);
      expect(readOn !== undefined, rule).toBe(/RFC|OAuth 2|OpenID|draft-/.test(rule));
    }
  });

  it.each([
    [
      'RFC 8414 §3.3',
      'RFC 8414 §3.3: metadata must name the issuer that was asked for',
      'https://www.rfc-editor.org/rfc/rfc8414#section-3.3',
    ],
    [
      'OAuth 2.1 §4.1.2.1',
      'OAuth 2.1 §4.1.2.1: the authorization server says why it refuses a sign-in',
      'https://datatracker.ietf.org/doc/html/draft-ietf-oauth-v2-1#section-4.1.2.1',
    ],
    ['No permission, no token', 'No permission, no token', undefined],
    [
      'RFC 9700 §4.4.2: an answer must show which issuer it is from',
      'RFC 9700 §4.4.2: an answer must show which issuer it is from',
      'https://www.rfc-editor.org/rfc/rfc9700#section-4.4.2',
    ],
  ])('of %s', (rule, text, readOn) => {
    expect(labelOf(rule)).toEqual({ text, readOn });
  });
});
