/** An instant, relative; the exact one on hover and for screen readers. */
import { exactTime, fromNow } from './words.ts';
import { useMoment } from './now.ts';

export function When({ at }: { readonly at: number }) {
  const relative = useMoment((now) => fromNow(at, now));
  const exact = exactTime(at);
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={exact}>
      {relative}
      <span class="visually-hidden">, {exact}</span>
    </time>
  );
}
