/** Every app, with what it may reach. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { formatCount } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import type { PairedApp } from '../../base/views.ts';
import { MasterDetail } from '../../lists/master-detail.tsx';
import { Name } from '../../parts/untrusted-text.tsx';
import { When } from '../../parts/when.tsx';
import { useList } from '../../state/store.ts';
import { RecentActivity } from '../activity/recent-activity.tsx';
import { AppCard, IdleMark } from './app-card.tsx';
import { ConnectClients } from './connect-clients.tsx';
import { OpenForwards } from './open-forwards.tsx';
import { ViewHead } from '../../parts/view-head.tsx';
import { commandName } from '../../../words/app-kind.ts';

const words = strings.apps;

export function Apps({ item }: { readonly item?: string }) {
  const loaded = useList('app.list');
  const [isConnecting, connect] = useState(false);
  const clients = loaded.value?.apps;
  // The command is in the list only while the user allows or denies it something.
  const apps = useMemo(
    () => clients?.filter(({ name, permissions }) => name !== commandName || permissions.length > 0) ?? [],
    [clients],
  );
  return (
    <>
      <ViewHead title={words.title} lead={words.lead}>
        <button type="button" aria-expanded={isConnecting} onClick={() => connect(!isConnecting)}>
          {strings.setup.open}
        </button>
      </ViewHead>
      {isConnecting && (
        <section class="card" aria-label={strings.setup.title}>
          <p>{strings.setup.lead}</p>
          <ConnectClients />
        </section>
      )}
      <OpenForwards />
      <MasterDetail<PairedApp>
        tab="apps"
        chosen={item}
        loaded={loaded}
        items={apps}
        words={words}
        keyOf={keyOf}
        textOf={textOf}
        row={rowOf}
        detail={detailOf}
      />
    </>
  );
}

const keyOf = ({ appId }: PairedApp): string => appId;

const detailOf = (app: PairedApp): ComponentChildren => (
  <>
    <AppCard app={app} />
    <RecentActivity of={{ app: app.name }} />
  </>
);

function textOf({ name, executable = '', permissions }: PairedApp): string {
  return [name, executable, ...permissions.flatMap((p) => [p.resource, p.scope ?? ''])].join(' ');
}

function rowOf(app: PairedApp): ComponentChildren {
  const { name, permissions, lastUsedAt } = app;
  const servers = new Set(
    permissions.filter(({ decision }) => decision === 'allow').map(({ resource }) => resource),
  );
  return (
    <>
      <span class="pick-name">
        <Name text={name} />
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
