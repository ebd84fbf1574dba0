/**
 * What an operator reads of an error that somebody else's code or server made.
 *
 * Invariant: the words are bounded, printable, and without what could be a secret.
 */
import { KeyturnError, quotedWithheld } from '../../../base/errors.ts';
import { visible } from '../../../base/text/visible.ts';

/** What may hold a secret, behind what names it. Each of them reads a long text once. */
const stated: readonly RegExp[] = [
  /((?:authorization|cookie)\\?["'`]?\s*[=:]).+/gi,
  /\b((?:basic|bearer|digest|dpop)\s+)\S+/gi,
  // Up to the same quotation mark, or to the next space. JSON may be in JSON. "Unexpected token" of a parser names no secret.
  /((?:key|pass(?:phrase|wd|word)|pwd|secret|(?<!unexpected )token)\\?["'`]?(?:\s*[=:>]+\s*|\s+(?=\\?["'`])))(?:\\?(["'`])(?:\\.|(?!\2)[^\\])*\2?|\S+)/gis,
  /([?#])[^\s"')]+/g,
];

/** In a sentence, a long word with a digit may be a token or a key. An error code such as AADSTS7000215 is none. */
export function shownWords(text: string): string {
  const anonymous = text.replaceAll(/\S+/g, withoutUserinfo);
  const withheld = stated
    .reduce((left, pattern) => left.replaceAll(pattern, '$1…'), anonymous)
    .replaceAll(/[^\s"'(),:;]{12,}/g, (word) =>
      /\d/.test(word) && !/^[A-Z]+\d{1,8}$/.test(word) ? '…' : word,
    );
  return quotedWithheld(withheld);
}

/** A password may have slashes, so all up to the last @ may be one. */
function withoutUserinfo(word: string): string {
  const [from, to] = [word.indexOf('//') + 2, word.lastIndexOf('@')];
  return from === 1 || to < from ? word : `${word.slice(0, from)}…${word.slice(to)}`;
}

/** Which error it is, its words, its cause, and the line of the author's code that it comes from. Never throws. */
export function shownFault(thrown: unknown): string {
  try {
    return faultOf(thrown);
  } catch {
    return 'thrown: a value that has no words';
  }
}

/** Each may have any type: `Object.assign(new Error(), await response.json())`. */
type Members = Readonly<Partial<Record<keyof Error, unknown>>>;

function faultOf(error: unknown): string {
  if (error instanceof KeyturnError) return error.hint ? `${error.message} ${error.hint}` : error.message;
  if (!(error instanceof Error)) return `thrown: ${shownWords(String(error))}`;
  const { name, message, cause, stack }: Members = error;
  const frames = String(stack).replace(String(message), '').split('\n');
  const at = frames.find((line) => /^\s+at (?!.*\bnode:)/.test(line))?.trim() ?? '';
  const why = cause instanceof Error ? ` (${shownMessage(cause)})` : '';
  return `${bounded(String(name))}: ${shownMessage(error)}${why} ${bounded(at)}`.trimEnd();
}

const shownMessage = ({ message }: Members): string => shownWords(String(message));

const bounded = (text: string): string => visible(text.slice(0, 300));
