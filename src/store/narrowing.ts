/**
 * Decides which changes of a file of authority narrow: those after which an older copy of the file would allow more.
 *
 * Invariant: a change narrows unless it only adds records that are no denials. A store may name fields that don't say
 * who may do what. Only changes of those fields are ignored.
 */

/** The rules of a store about its records. */
export interface ChangeRules<Item> {
  /** True for a record that denies something. */
  readonly isDenial?: (item: Item) => boolean;
  /** The record without the fields that don't say who may do what. */
  readonly essence?: (item: Item) => unknown;
  /** The most records that Keyturn writes. A file with more is of another program, and counts as unreadable. */
  readonly atMost?: number;
}

/** True if an older copy with `before` could allow something that `after` doesn't. */
export function narrows<Item>(
  before: readonly Item[],
  after: readonly Item[],
  { isDenial = () => false, essence = (item) => item }: ChangeRules<Item>,
): boolean {
  const textOf = (item: Item): string => JSON.stringify(essence(item));
  const left = new Set(after.map(textOf));
  if (before.some((item) => !left.has(textOf(item)))) return true;
  const known = new Set(before.map(textOf));
  return after.some((item) => isDenial(item) && !known.has(textOf(item)));
}
