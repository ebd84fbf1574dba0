/** Text from servers, programs and files made fit to show (words/seen-text.ts). */
import { seenText } from '../../words/seen-text.ts';

/** Characters of one text. A real name, scope or address is far shorter. */
const maxLength = 160;

export interface SanitizedText {
  readonly text: string;
  /** It was changed, or could pass for our own words: shown in quotation marks. */
  readonly needsQuotes: boolean;
}

export function sanitize(raw: string, bound = maxLength): SanitizedText {
  const { seen, isCut } = seenText(raw, bound);
  const needsQuotes = seen !== raw || raw === '' || /^\s|\s$|["“”<>]/.test(raw);
  return { text: isCut ? `${seen}…` : seen, needsQuotes };
}

/** Characters: a sentence of the broker's with a quotation in it is shorter. */
const maxSentenceLength = 600;

/** A sentence of the broker's. It quotes untrusted text already; the page sanitizes it all the same. */
export function sanitizeSentence(sentence: string): string {
  return sanitize(sentence, maxSentenceLength).text;
}

/** A reason of the broker's, which ends a sentence of the page's. */
export function sanitizeReason(why: string): string {
  const text = sanitizeSentence(why);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** What an exception is for, as a user types it: a private address is confirmed for a host, not for a URL. */
export function exceptionTarget(server: string, name: string): string {
  if (name !== 'private-address') return server;
  return URL.parse(server)?.hostname.replace(/^\[|\]$/g, '') ?? server;
}

/** The text for places that take no markup: titles, labels, announcements. Odd ones are quoted. */
export function sanitizeLabel(raw: string, bound?: number): string {
  const { text, needsQuotes } = sanitize(raw, bound);
  return needsQuotes ? `“${text}”` : text;
}
