/** Every app, with what it may reach. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { commandName } from '../../../words/app-kind.ts';
import { MasterDetail } from '../../lists/master-detail.tsx';
import { RecentActivity } from '../activity/recent-activity.tsx';
import { ConnectClients } from './connect-clients.tsx';
import { OpenForwards } from './open-forwards.tsx';
import { AppCard } from './app-card.tsx';
import { AppRow } from './app-row.tsx';
import { useList } from '../../state/store.ts';
import { strings } from '../../base/strings.ts';
import type { PairedApp } from '../../base/views.ts';
import { ViewHead } from '../view-head.tsx';

const words = strings.apps;

export function Apps({ item }: { readonly item?: string }) {
  const loaded = useList('app.list');
  const [isConnecting, connect] = useState(false);
  const clients = loaded.value?.apps;
  // The command is in the list only while it may reach something.
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
        unit="apps"
        keyOf={keyOf}
        textOf={textOf}
        row={rowOf}
        detail={detailOf}
      />
    </>
  );
}

const keyOf = ({ appId }: PairedApp): string => appId;

const rowOf = (app: PairedApp): ComponentChildren => <AppRow app={app} />;

const detailOf = (app: PairedApp): ComponentChildren => (
  <>
    <AppCard app={app} />
    <RecentActivity of={{ app: app.name }} />
  </>
);

function textOf({ name, executable = '', permissions }: PairedApp): string {
  return [name, executable, ...permissions.flatMap((p) => [p.resource, p.scope ?? ''])].join(' ');
}
