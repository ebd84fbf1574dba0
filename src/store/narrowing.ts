/**
 * Which changes of a file of authority narrow, that is: after which an older copy of the file would give
 * back what somebody took away.
 *
 * Invariant: every change narrows unless it only adds records, and none of these is a denial. A store may
 * name fields that say nothing about who may do what; nothing else is left out.
 */

/** What a store knows about its records. */
export interface ChangeRules<Item> {
  /** A record that takes something away by being there. */
  readonly isDenial?: (item: Item) => boolean;
  /** The record without the fields that say nothing about who may do what. */
  readonly essence?: (item: Item) => unknown;
  /** Keyturn keeps no more records than these: a file with more is another program's, and unreadable. */
  readonly atMost?: number;
}

/** Whether an older copy with `before` would allow what `after` no longer does. */
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
