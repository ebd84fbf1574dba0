/**
 * Texts of any characters for tests by chance. `unit: 'binary'` of fast-check makes a table of all 1.1 million code
 * points for each such text that a test names, which takes about two seconds.
 */
import * as fc from 'fast-check';

const surrogates = { first: 0xd800, count: 0x800 };
const lastCodePoint = 0x10ffff;

const anyCharacter = fc.nat(lastCodePoint - surrogates.count).map(
  (index) => String.fromCodePoint(index < surrogates.first ? index : index + surrogates.count),
  (character) => indexOf(character),
);

/** fast-check asks it for texts that often break programs, such as `__proto__`. It throws for what is no character. */
function indexOf(character: unknown): number {
  const point = typeof character === 'string' ? character.codePointAt(0) : undefined;
  if (point === undefined || String.fromCodePoint(point) !== character) throw new Error('no character');
  return point < surrogates.first ? point : point - surrogates.count;
}

export const anyText = (constraints: Omit<fc.StringConstraints, 'unit'> = {}): fc.Arbitrary<string> =>
  fc.string({ ...constraints, unit: anyCharacter });
