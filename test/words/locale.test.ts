/** By which country's habits the app writes, by what the system says. */
import { expect, it } from 'vitest';
import { englishLocale } from '../../words/locale.ts';

it.each([
  ['en-GB', 'en-GB'],
  ['de-AT', 'en-AT'],
  ['de_DE', 'en'],
  ['\0', 'en'],
  ['', 'en'],
])('a system with the locale %j writes as %s', (regional, locale) => {
  expect(englishLocale(regional)).toBe(locale);
});
