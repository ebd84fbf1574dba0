/** An instant, relative; the exact one on hover and for screen readers. */
import { exactTime, fromNow } from './words.ts';
import { useNow } from './now.ts';

export function When({ at }: { readonly at: number }) {
  const now = useNow();
  const exact = exactTime(at);
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={exact}>
      {fromNow(at, now)}
      <span class="visually-hidden">, {exact}</span>
    </time>
  );
}
