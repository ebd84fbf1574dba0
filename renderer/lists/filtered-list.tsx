/** A list of cards that a text narrows, with the number of those that are left. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { formatCount } from '../base/format.ts';
import type { plurals } from '../base/strings.ts';
import { CardList } from './card-list.tsx';
import { FilterField } from './filter-field.tsx';
import { ListFrame } from './list-frame.tsx';
import type { Loaded } from '../state/store.ts';

interface FilteredListProps<T> {
  readonly loaded: Loaded<unknown>;
  /** In the order in which they are shown. */
  readonly items: readonly T[];
  readonly words: { readonly filter: string; readonly emptyTitle: string; readonly empty: string };
  readonly unit: keyof typeof plurals;
  readonly keyOf: (item: T) => string;
  /** All the text by which the filter finds it. The same function at every drawing. */
  readonly textOf: (item: T) => string;
  readonly show: (item: T) => ComponentChildren;
}

export function FilteredList<T>({ loaded, items, words, unit, keyOf, textOf, show }: FilteredListProps<T>) {
  const [filter, setFilter] = useState('');
  const wanted = filter.trim().toLowerCase();
  const fitting = useMemo(
    () => items.filter((item) => textOf(item).toLowerCase().includes(wanted)),
    [items, textOf, wanted],
  );
  return (
    <ListFrame loaded={loaded} isEmpty={items.length === 0} emptyTitle={words.emptyTitle} empty={words.empty}>
      <FilterField
        label={words.filter}
        value={filter}
        onInput={setFilter}
        count={formatCount(fitting.length, unit)}
      />
      <CardList items={fitting} keyOf={keyOf} show={show} />
    </ListFrame>
  );
}
