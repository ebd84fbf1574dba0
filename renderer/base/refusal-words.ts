/**
 * A refusal as one sentence in the window's language.
 *
 * Invariant: in a language other than English no sentence of the broker is part of it.
 */
import { refusalSentence } from '../../words/refusal.ts';
import { sanitizeSentence } from './untrusted-text.ts';
import { language, strings } from './strings.ts';
import type { Refusal } from './views.ts';

export const translatedRefusal = (refusal: Refusal): string => refusalSentence(strings, refusal);

/** For what is read out once, and stands nowhere. */
export const spokenRefusal = (refusal: Refusal): string =>
  language === 'en' ? sanitizeSentence(refusal.message) : translatedRefusal(refusal);

/** The specification that a rule names first; undefined for a rule of Keyturn's own, which is an English sentence. */
export function ruleName(rule = ''): string | undefined {
  return /^(?:RFC \d+|OAuth 2\.1|OpenID Connect Core)(?: §[\d.]*\d)?/.exec(rule)?.[0];
}
