/**
 * Text from outside (servers, files, programs) as it may reach an output: nothing in it is a command to a terminal,
 * turns the direction of what is beside it, or can't be seen.
 *
 * Invariant: `visible` loses nothing: what it replaces is there as an escape, which JSON reads.
 */

/**
 * Characters that no name has, to stand between the brackets of a pattern: control characters, overrides of direction,
 * other ends of lines, half characters. Patterns with Unicode classes are made when they are first used: V8 checks a
 * literal as it reads the file, and these take a millisecond of each program's start.
 */
export const invisible = String.raw`\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}`;

/** Private use, what a font may leave out, and empty characters of Braille, music and hieroglyphs. */
const drawsNothing = String.raw`\p{Co}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u{13441}\u{13442}`;

/** Marks on one letter: no script has more, and a pile of them covers the lines around it. */
const piled = String.raw`(?<=\p{M}{6})\p{M}`;

let pattern: RegExp | undefined;

/** With each character that can't be seen, and each mark too many, as an escape. */
export function visible(text: string): string {
  // Most text needs no pattern with classes.
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  pattern ??= new RegExp(`[${invisible}${drawsNothing}]|${piled}`, 'gu');
  return text.replace(pattern, escaped);
}

/** True if a letter, a digit, a mark of punctuation or a symbol can be seen in it. */
export function hasVisible(text: string): boolean {
  const seen = text.replace(new RegExp(`[${invisible}${drawsNothing}]`, 'gu'), '');
  return new RegExp(String.raw`[\p{L}\p{N}\p{P}\p{S}]`, 'u').test(seen);
}

function escaped(character: string): string {
  return character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
