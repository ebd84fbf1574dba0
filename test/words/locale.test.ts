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

it('times are written by the clock of the country', () => {
  const evening = new Date(2026, 10, 23, 19, 5);
  const timeIn = (regional: string): string =>
    evening.toLocaleTimeString(englishLocale(regional), { hour: '2-digit', minute: '2-digit' });
  expect(timeIn('en-US')).toMatch(/^07:05\sPM$/);
  expect(timeIn('de-DE')).toBe('19:05');
});
