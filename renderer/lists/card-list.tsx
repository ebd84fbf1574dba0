/**
 * A long list of cards: some at first, more as the user comes to the end of them.
 *
 * Invariant: what is far from the window costs neither layout nor paint (`content-visibility` of
 * `.cards`), and what isn't shown yet isn't even made.
 */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ShowMore } from './show-more.tsx';
import { strings } from '../base/strings.ts';

/** Cards at first and with each further step: several windows full. */
export const pageSize = 30;

interface CardListProps<T> {
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  readonly show: (item: T) => ComponentChildren;
  /** Of the list: `cards`, or `permissions` for rows within a card. */
  readonly kind?: 'cards' | 'permissions';
}

export function CardList<T>({ items, keyOf, show, kind = 'cards' }: CardListProps<T>) {
  const [count, setCount] = useState(pageSize);
  if (items.length === 0) return <p class="empty dim">{strings.noMatch}</p>;
  return (
    <>
      <ul class={kind}>
        {items.slice(0, count).map((item) => (
          <li key={keyOf(item)}>{show(item)}</li>
        ))}
      </ul>
      {items.length > count && <ShowMore onMore={() => setCount((shown) => shown + pageSize)} />}
    </>
  );
}
