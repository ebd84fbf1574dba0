/**
 * A long list: some rows at first, more as the user comes to the end of them.
 *
 * Invariant: what is far from the window costs neither layout nor paint (`content-visibility`), and what isn't shown
 * yet isn't even made.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { strings } from '../base/strings.ts';

interface LongListProps<T> {
  readonly items: readonly T[];
  readonly keyOf: (item: T, at: number) => string;
  readonly show: (item: T) => ComponentChildren;
  readonly class: 'permissions' | 'picks' | 'rows';
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  /** Rows at first and with each further step: several windows full. */
  readonly pageSize?: number;
}

export function LongList<T>({ items, keyOf, show, pageSize = 30, ...list }: LongListProps<T>) {
  const [count, setCount] = useState(pageSize);
  if (items.length === 0) return <p class="empty dim">{strings.noMatch}</p>;
  return (
    <>
      <ul {...list}>
        {items.slice(0, count).map((item, at) => (
          <li key={keyOf(item, at)}>{show(item)}</li>
        ))}
      </ul>
      {items.length > count && <ShowMore onMore={() => setCount((shown) => shown + pageSize)} />}
    </>
  );
}

/** Goes on by itself when it comes into sight, and by a press. */
function ShowMore({ onMore }: { readonly onMore: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) onMore();
    });
    if (button.current) observer.observe(button.current);
    return () => observer.disconnect();
  });
  return (
    <button type="button" class="more" ref={button} onClick={onMore}>
      {strings.showMore}
    </button>
  );
}
