/**
 * The rules of the document's lists: what their records look like, and which changes only take away.
 *
 * Invariant: what isn't clearly less gives. A record that is removed takes away; one that is added or changed gives,
 * unless its list says otherwise.
 */
import { z } from 'zod';

/** The records of each list, by its name. The records and lists of a state never change. */
export type State = ReadonlyMap<string, readonly unknown[]>;

/** What a list says about its records. */
export interface RecordRules<Item> {
  /** Two records with one key are the same one, before and after a change. */
  readonly keyOf?: (item: Item) => string;
  /** True if `after` allows nothing that `before` didn't. `before` is undefined for a record that is added. */
  readonly isLess?: (after: Item, before: Item | undefined) => boolean;
  /** The most records that Keyturn writes. A document with more is of another program. */
  readonly atMost?: number;
  /** The names of the vault's items that the record has. */
  readonly itemsOf?: (item: Item) => readonly string[];
  /** Its records decide nothing, so that a change of them alone takes nothing away. */
  readonly isBookkeeping?: boolean;
}

export interface ListRules {
  readonly schema: z.ZodType;
  readonly atMost: number;
  readonly takesAway: (before: readonly unknown[], after: readonly unknown[]) => boolean;
  readonly itemsOf: (item: unknown) => readonly string[];
  readonly isBookkeeping: boolean;
}

export function rulesOf<Item>(
  schema: z.ZodType<Item>,
  {
    keyOf = () => '',
    isLess = () => false,
    atMost = Number.POSITIVE_INFINITY,
    itemsOf = () => [],
    isBookkeeping = false,
  }: RecordRules<Item>,
): ListRules {
  const onlyTakes = (before: readonly Item[], after: readonly Item[]): boolean => {
    const [old, left] = [new Set(before), new Set(after)];
    const gone = new Map(before.filter((item) => !left.has(item)).map((item) => [keyOf(item), item]));
    return after.filter((item) => !old.has(item)).every((item) => isLess(item, gone.get(keyOf(item))));
  };
  // Records of one list are of one type.
  return {
    schema,
    atMost,
    takesAway: onlyTakes as ListRules['takesAway'],
    itemsOf: itemsOf as ListRules['itemsOf'],
    isBookkeeping,
  };
}

/** True if the change takes something away, and gives nothing. */
export function takesAway(before: State, after: State, lists: ReadonlyMap<string, ListRules>): boolean {
  const changed = [...lists]
    .map(([name, rules]) => ({ ...rules, was: before.get(name), is: after.get(name) }))
    .filter(({ was, is, isBookkeeping }) => was !== is && !isBookkeeping);
  return changed.length > 0 && changed.every((list) => list.takesAway(list.was ?? [], list.is ?? []));
}
