/** An app in the list: its name, what stands out about it, how many servers it may use, when it last did. */
import { formatCount } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import type { PairedApp } from '../../base/views.ts';
import { UntrustedText } from '../../parts/untrusted-text.tsx';
import { When } from '../../parts/when.tsx';
import { IdleMark } from './app-card.tsx';

const words = strings.apps;

export function AppRow({ app }: { readonly app: PairedApp }) {
  const { name, permissions, lastUsedAt } = app;
  const servers = new Set(
    permissions.filter(({ decision }) => decision === 'allow').map(({ resource }) => resource),
  );
  return (
    <>
      <span class="pick-name">
        <strong>
          <UntrustedText text={name} />
        </strong>
      </span>
      <span class="pick-state">
        <IdleMark app={app} />
      </span>
      <span class="pick-more dim small">
        {formatCount(servers.size, 'servers')}
        {lastUsedAt !== undefined && (
          <>
            {' · '}
            {words.used} <When at={lastUsedAt} />
          </>
        )}
      </span>
    </>
  );
}
