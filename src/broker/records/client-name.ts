/**
 * The name that a program gives itself: which characters it may have, and which names a person could confuse.
 *
 * Invariant: an accepted name is shown exactly as it is, and each of its words has one script. Two names that
 * `areAlike` accepts look the same to a person, apart from case, form, spaces or letters of another script. A name
 * proves nothing about the program.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { prototypes } from './confusables.ts';

/**
 * The scripts that people write today (UAX 31, table 5). Other scripts are hardly ever read, and many of
 * their letters look like letters of these.
 */
const scripts = (
  'Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Hangul Han ' +
  'Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan'
).split(' ');

/** What one word may mix: one script, or those that Chinese, Japanese and Korean write together (UTS 39 §5.2). */
const together = [
  ...scripts.map((script) => [script]),
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
];

const wordOfOneScript = together.map(
  (mixed) =>
    new RegExp(
      `^[${['Common', 'Inherited', ...mixed].map((script) => `\\p{scx=${script}}`).join('')}]+$`,
      'u',
    ),
);

/**
 * Characters that draw nothing, or change how their neighbours are drawn: controls, formats (bidi among them),
 * unassigned and private ones, every space but U+0020, those that Unicode calls ignorable, and four that fonts leave
 * blank.
 */
const unseen =
  /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800\ufffc\u{1d159}\u{16fe4}]|(?! )\p{Zs}/u;

/** A run of marks on one letter that UTS 39 §5.4 warns of: the same twice, or more than four. */
const heapOfMarks = /(\p{Mn})\1|\p{Mn}{5}/u;

/** Throws `invalid_request` for a name that a person can't read as it stands. */
export function refuseUnreadable(name: string): void {
  const [hidden] = unseen.exec(name) ?? [];
  if (hidden !== undefined) throw unreadable(name, `it holds ${codePoint(hidden)}, which shows nothing`);
  if (/^ | $| {2}/.test(name)) throw unreadable(name, 'it begins or ends with a space, or has two in a row');
  if (/(?:^| )\p{M}/u.test(name) || heapOfMarks.test(name.normalize('NFD'))) {
    throw unreadable(name, 'it has accents without a letter, or too many on one');
  }
  if (!/[\p{L}\p{N}]/u.test(name)) throw unreadable(name, 'it has no letter and no digit');
  const mixed = name
    .normalize('NFKC')
    .split(/[^\p{L}\p{M}]+/u)
    .find((word) => word !== '' && !wordOfOneScript.some((pattern) => pattern.test(word)));
  if (mixed !== undefined) {
    throw unreadable(
      name,
      `the letters of ${quoted(mixed)} are of several scripts, or of one that is not in use`,
    );
  }
}

const codePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

function unreadable(name: string, why: string): KeyturnError {
  return new KeyturnError('invalid_request', `A program can't be paired as ${quoted(name)}: ${why}.`, {
    rule: 'A program’s name is visible text, and each word of it is of one script',
    hint: 'Pair it under another name, for example of plain letters and digits.',
  });
}

/** Whether a person could take one name for the other. */
export function areAlike(one: string, other: string): boolean {
  const looks = looksOf(one);
  return looksOf(other).some((look) => looks.includes(look));
}

/**
 * What a name looks like, without spaces and invisible characters. Twice, because upper and lower case look like
 * different letters: `I` is like `l`, and also an `i`.
 */
function looksOf(name: string): string[] {
  const plain = name.normalize('NFKC').replace(/[\s\p{Default_Ignorable_Code_Point}]+/gu, '');
  return [folded(skeleton(plain)), folded(skeleton(folded(plain)))];
}

/** Without case. Through upper case: `ß` and `SS` are one, and so are the two small sigmas. */
const folded = (text: string): string => text.toUpperCase().toLowerCase().normalize('NFKC');

/** UTS 39 §4: decomposed, each character replaced by its prototype, decomposed again. */
function skeleton(text: string): string {
  const known = prototypes();
  return Array.from(text.normalize('NFD'))
    .map((character) => known.get(character) ?? character)
    .join('')
    .normalize('NFD');
}
