/** Instants. */
import { exactTime, fromNow } from '../base/words.ts';
import { useMoment } from '../state/now.ts';

/** Relative; the exact one on hover and for screen readers. */
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

/** Exact first, where something depends on it: relative times are rounded. */
export function WhenExactly({ at }: { readonly at: number }) {
  const relative = useMoment((now) => fromNow(at, now));
  return (
    <time dateTime={new Date(at * 1000).toISOString()}>
      {exactTime(at)} ({relative})
    </time>
  );
}
