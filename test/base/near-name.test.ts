/** The name that a mistyped one may have meant. */
import { expect, it } from 'vitest';
import { didYouMean } from '../../src/base/text/near-name.ts';

const names = ['list', 'lock', 'unlock', 'login', 'end', 'logLevel', 'lockAfter'];

it.each([
  ['a letter is missing', 'unlok', 'unlock'],
  ['a letter is too many', 'liist', 'list'],
  ['two letters changed places', 'lits', 'list'],
  ['a capital is missing', 'loglevel', 'logLevel'],
])('guesses a mistyped name if %s', (_what, text, name) => {
  expect(didYouMean(text, names)).toBe(`Did you mean ${name}? `);
});
