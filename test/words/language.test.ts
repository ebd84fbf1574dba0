/** Which language the app speaks, by what the system says. */
import { describe, expect, it } from 'vitest';
import { langSwitch } from '../../electron/base/switches.ts';
import { chooseLanguage, languageOf, languageQuery } from '../../words/language.ts';

describe('the language of the app', () => {
  it.each([
    [['de-AT', 'en-US'], 'de-AT', 'de', 'de-AT'],
    [['fr-FR', 'de', 'en'], 'fr-FR', 'de', 'de-FR'],
    [['fr-FR', 'it'], 'it-CH', 'en', 'en-CH'],
    [['en-US'], 'de-DE', 'en', 'en-DE'],
    [['en-GB'], 'en-GB', 'en', 'en-GB'],
    [['C', '', 'not a locale', 'de_DE'], 'C.UTF-8', 'en', 'en'],
    [[], '', 'en', 'en'],
  ] as const)(
    'with the preferences %j and the locale %j is %s, written as %s',
    (preferred, regional, language, locale) => {
      expect(chooseLanguage(preferred, regional)).toEqual({ language, locale });
    },
  );

  it('reaches the page whole, and is English where the page is told nothing or nonsense', () => {
    const spoken = { language: 'de', locale: 'de-AT' } as const;
    expect(languageOf(languageQuery(spoken))).toEqual(spoken);
    expect(languageOf('')).toEqual({ language: 'en', locale: 'en' });
    expect(languageOf('language=xx&locale=%00')).toEqual({ language: 'en', locale: 'en' });
  });

  it('writes times by the clock of the country, in its own words', () => {
    const evening = new Date(2026, 10, 23, 19, 5);
    const timeIn = (preferred: string, regional: string): string =>
      evening.toLocaleTimeString(chooseLanguage([preferred], regional).locale, {
        hour: '2-digit',
        minute: '2-digit',
      });
    expect(timeIn('en', 'en-US')).toMatch(/^07:05\sPM$/);
    expect(timeIn('en', 'de-DE')).toBe('19:05');
    expect(timeIn('de', 'de-DE')).toBe('19:05');
  });

  it('can be named by the switch that Chromium reads', () => {
    expect(langSwitch(['--hidden', '--lang=de-CH'])).toBe('de-CH');
    expect(langSwitch(['--lang=en', '--lang=de'])).toBe('de');
    expect(langSwitch(['--hidden', '--language=de', 'lang=de'])).toBeUndefined();
  });
});
