/**
 * Text from servers, programs and files made fit to show.
 *
 * Invariant: what comes out is bounded, and every control, direction, invisible and unassigned
 * character is written as an escape, so that no name can look like another or turn the words around it.
 */

/** Characters of one text. A real name, scope or address is far shorter. */
const maxLength = 160;

/** Marks on one letter: Vietnamese needs two; a pile of them covers the lines above. */
const piledMarks = /(\p{M}{2})\p{M}+/gu;

/** Controls, formats (bidi, zero width), surrogates, private use, unassigned; all spaces but the plain one. */
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu;

export interface SanitizedText {
  readonly text: string;
  /** It was changed, or could pass for our own words: shown in quotation marks. */
  readonly needsQuotes: boolean;
}

export function sanitize(raw: string, bound = maxLength): SanitizedText {
  const characters = Array.from(raw.slice(0, bound * 2));
  const isCut = characters.length > bound || raw.length > bound * 2;
  const kept = characters.slice(0, bound).join('');
  const plain = kept.replace(unseen, escaped).replace(piledMarks, '$1…');
  const needsQuotes = isCut || plain !== raw || raw === '' || /^\s|\s$|["“”<>]/.test(raw);
  return { text: isCut ? `${plain}…` : plain, needsQuotes };
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

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
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
