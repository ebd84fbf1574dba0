/** Instants. */
import { formatExact, formatRelative } from '../base/format.ts';
import { strings } from '../base/strings.ts';
import { useNow } from '../state/now.ts';

/** Relative; the exact one on hover and for screen readers. */
export function When({ at }: { readonly at: number }) {
  const relative = useNow((now) => formatRelative(at, now));
  const exact = formatExact(at);
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={exact}>
      {relative}
      <span class="visually-hidden">, {exact}</span>
    </time>
  );
}

/** Exact first, where something depends on it: relative times are rounded. */
export function WhenExactly({ at }: { readonly at: number }) {
  const relative = useNow((now) => formatRelative(at, now));
  return (
    <time dateTime={new Date(at * 1000).toISOString()}>
      {formatExact(at)} ({relative})
    </time>
  );
}

/** When a sign-in’s access token expires; one that is over is as good as none. */
export function Expiry({ at }: { readonly at: number | undefined }) {
  const isAlive = useNow((now) => at !== undefined && at > now);
  if (at === undefined || !isAlive) return <span class="dim">{strings.servers.expiresUnknown}</span>;
  return <When at={at} />;
}
