/**
 * The page's words, in the language that the main process chose (words/ has them all).
 *
 * Invariant: no file of renderer/ holds words for people (a test reads them all). Numbers, lists and times are made by
 * Intl in format.ts; untrusted text comes in as an argument, already sanitized.
 */
import { window as german } from '../../words/de/window.ts';
import { window as english } from '../../words/en/window.ts';
import { languageOf } from '../../words/language.ts';
import type { Language } from '../../words/language.ts';
import { bindMessages } from '../../words/messages.ts';
import type { Translation } from '../../words/messages.ts';
import type { Bridge } from './views.ts';

const catalogues: Readonly<Record<Language, Translation<typeof english>>> = { en: english, de: german };

// Formatting is tested without a page.
const { keyturn } = globalThis as { readonly keyturn?: Pick<Bridge, 'language'> };

export const { language, locale } = languageOf(keyturn?.language ?? '');

export const strings = bindMessages<typeof english>(catalogues[language], locale);
