/** When a sign-in's access token expires; one that is over is as good as none. */
import { useNow } from '../../state/now.ts';
import { strings } from '../../base/strings.ts';
import { When } from '../../parts/when.tsx';

export function Expiry({ at }: { readonly at: number | undefined }) {
  const isAlive = useNow((now) => at !== undefined && at > now);
  if (at === undefined || !isAlive) return <span class="dim">{strings.servers.expiresUnknown}</span>;
  return <When at={at} />;
}
