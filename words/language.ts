/**
 * Which language the app speaks, and by which country's habits it writes numbers, dates and times.
 *
 * Invariant: the system decides; English where it names no language that we have.
 */
export const languages = ['en', 'de'] as const;

export type Language = (typeof languages)[number];

export interface Spoken {
  readonly language: Language;
  /** A locale (BCP 47) of this language, for Intl: with the country whose habits the system keeps. */
  readonly locale: string;
}

/**
 * `preferred`: locales, the dearest first. `regional`: the locale by which the system writes dates and times; English on
 * a machine that is set to Germany keeps the clock of 24 hours. What is no locale counts for nothing.
 */
export function chooseLanguage(preferred: readonly string[], regional = ''): Spoken {
  const known = preferred
    .map((tag) => readLocale(tag)?.language)
    .flatMap((name) => languages.filter((language) => language === name));
  const [language = 'en'] = known;
  const habits = readLocale(regional);
  if (habits?.language === language) return { language, locale: habits.toString() };
  const { region } = habits ?? {};
  return { language, locale: region === undefined ? language : `${language}-${region}` };
}

function readLocale(tag: string): Intl.Locale | undefined {
  try {
    return new Intl.Locale(tag);
  } catch {
    return undefined;
  }
}

/** The language as text, for the page's process. */
export function languageQuery({ language, locale }: Spoken): string {
  return new URLSearchParams({ language, locale }).toString();
}

/** Reads what `languageQuery` wrote. English where there is nothing. */
export function languageOf(query: string): Spoken {
  const asked = new URLSearchParams(query);
  return chooseLanguage([asked.get('language') ?? ''], asked.get('locale') ?? '');
}
