/**
 * By which country's habits the app writes numbers, dates and times.
 *
 * Invariant: a locale of English, the language of the words.
 */

/**
 * `regional`: the locale by which the system writes dates and times. English on a machine that is set to Germany keeps
 * the clock of 24 hours. A text that is no locale is ignored.
 */
export function englishLocale(regional: string): string {
  const habits = readLocale(regional);
  if (habits?.language === 'en') return habits.toString();
  return habits?.region === undefined ? 'en' : `en-${habits.region}`;
}

function readLocale(tag: string): Intl.Locale | undefined {
  try {
    return new Intl.Locale(tag);
  } catch {
    return undefined;
  }
}
