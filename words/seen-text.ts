/**
 * Text from outside as a reader sees it.
 *
 * Invariant: what comes out is bounded, and every control, direction, invisible and unassigned character is written as
 * an escape, so that no name can look like another or turn the words around it.
 */

/** Marks on one letter: Vietnamese needs two; a pile of them covers the lines above. */
const piledMarks = /(\p{M}{2})\p{M}+/gu;

/** Controls, formats (bidi, zero width), surrogates, private use, unassigned; all spaces but the plain one. */
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu;

/** `bound`: characters. Other than `raw` if anything of it was cut or replaced. */
export function seenText(raw: string, bound: number): { readonly seen: string; readonly isCut: boolean } {
  const characters = Array.from(raw.slice(0, bound * 2));
  const isCut = characters.length > bound || raw.length > bound * 2;
  const kept = characters.slice(0, bound).join('');
  return { seen: kept.replace(unseen, escaped).replace(piledMarks, '$1…'), isCut };
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
