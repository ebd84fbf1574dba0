/**
 * The list of the document with the names of items that the vault may have, and that no record has: not yet, or no
 * more.
 *
 * Invariant: a name is in this list before the vault has the item. It leaves the list in the same change that puts it
 * into a record, and comes back in the change that takes it out of one. So a broker that is killed leaves no item
 * without a name in the document.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { RecordRules, State } from './list-rules.ts';

export const unusedList = 'toDelete';

/** Sign-ins, API keys, clients. */
export type ItemKind = 's' | 'k' | 'c';

export const itemNameSchema = z.string().regex(/^[skc]-[A-Za-z0-9_-]{22}$/);

export const unusedSchema = z.strictObject({ name: itemNameSchema });

export type UnusedItem = z.infer<typeof unusedSchema>;

export const unusedRules: RecordRules<UnusedItem> = { isBookkeeping: true };

/** It is never used again. */
export function newItemName(kind: ItemKind): string {
  return `${kind}-${randomBytes(16).toString('base64url')}`;
}

/** `state` after a list has changed from `before` to `after`, with the names that this frees or uses. */
export function withUnused<Item>(
  state: State,
  before: readonly Item[],
  after: readonly Item[],
  itemsOf: (item: Item) => readonly string[],
): State {
  const [old, kept] = [new Set(before), new Set(after)];
  const had = before.filter((item) => !kept.has(item)).flatMap(itemsOf);
  const has = after.filter((item) => !old.has(item)).flatMap(itemsOf);
  const freed = had.filter((name) => !has.includes(name));
  const isMoved = freed.length > 0 || has.some((name) => !had.includes(name));
  if (!isMoved) return state;
  // The list's own schema checked those that were read.
  const unused = (state.get(unusedList) ?? []) as readonly UnusedItem[];
  const moved = new Set([...has, ...freed]);
  const others = unused.filter(({ name }) => !moved.has(name));
  return new Map(state).set(unusedList, [...others, ...freed.map((name) => ({ name }))]);
}
