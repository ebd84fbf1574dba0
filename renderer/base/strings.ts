/**
 * The page's words (words/ has them all).
 *
 * Invariant: no file of renderer/ holds words for people. Numbers, lists and times are made by Intl in format.ts;
 * untrusted text comes in as an argument, already sanitized.
 */
import { window as english } from '../../words/en/window.ts';
import { englishLocale } from '../../words/locale.ts';
import { bindMessages } from '../../words/messages.ts';
import type { Bridge } from './views.ts';

// Formatting is tested without a page.
const { keyturn } = globalThis as { readonly keyturn?: Pick<Bridge, 'locale'> };

export const locale = englishLocale(keyturn?.locale ?? '');

export const strings = bindMessages<typeof english>(english, locale);
