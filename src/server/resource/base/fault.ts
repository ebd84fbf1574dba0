/**
 * What an operator reads of an error that somebody else's code or server made.
 *
 * Invariant: the words are bounded, printable, and without what could be a secret.
 */
import { KeyturnError, quotedWithheld } from '../../../base/errors.ts';

/** Behind the name of a scheme or of a field, in a URL before the host or behind the path. */
const stated =
  /(?<=\b(?:basic|bearer|dpop) |\b(?:key|password|secret|token)["']?[=:] ?["']?|[?#])[^\s"')]+|(?<=\/\/)[^\s/]*@/gi;

/** In a sentence, a long word with a digit may be a code, a token or a key. A code such as AADSTS7000215 is none. */
export function shownWords(text: string): string {
  const withheld = text
    .replaceAll(stated, '…')
    .replaceAll(/[^\s"'(),:;]{12,}/g, (word) =>
      /\d/.test(word) && !/^[A-Z]+\d{1,8}$/.test(word) ? '…' : word,
    );
  return quotedWithheld(withheld);
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
  return `${String(name)}: ${shownMessage(error)}${why} ${at}`.trimEnd();
}

const shownMessage = ({ message }: Members): string => shownWords(String(message));
