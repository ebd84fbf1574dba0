/** Which of the windows this is: the card's, the welcome, or the main one with its tabs. */
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Activity } from './activity.tsx';
import { announce, useAnnouncement } from './announcement.ts';
import { Programs } from './programs.tsx';
import { CardWindow } from './card-window.tsx';
import { goTo, useRoute } from './route.ts';
import type { Route, Tab } from './route.ts';
import { Servers } from './servers.tsx';
import { Settings } from './settings.tsx';
import { useList } from './store.ts';
import { strings } from './strings.ts';
import { TabBar } from './tab-bar.tsx';
import { VaultBanner } from './vault-banner.tsx';
import { Waiting } from './waiting.tsx';
import { Welcome } from './welcome.tsx';

export function App() {
  const route = useRoute();
  return (
    <>
      <Shown route={route} />
      <Announcement />
    </>
  );
}

function Shown({ route }: { readonly route: Route }) {
  switch (route.view) {
    case 'card':
      return <CardWindow {...(route.id === undefined ? {} : { id: route.id })} />;
    case 'welcome':
      return <Welcome />;
    case 'tab':
      return <MainWindow tab={route.tab} />;
    case 'start':
      return <Start />;
  }
}

/** Without a place to go: the welcome for who hasn't seen it, else the servers. */
function Start() {
  const { value, refusal } = useList('preferences.get');
  // Not known yet: neither, so that nothing is shown for a moment only.
  if (value === undefined && refusal === undefined) return null;
  return value?.isWelcomed === false ? <Welcome /> : <MainWindow tab="servers" />;
}

const views: Readonly<Record<Tab, ComponentType>> = {
  servers: Servers,
  programs: Programs,
  activity: Activity,
  settings: Settings,
};

function MainWindow({ tab }: { readonly tab: Tab }) {
  const View = views[tab];
  useEffect(() => announce(''), [tab]);
  return (
    <>
      <TabBar tab={tab} onChoose={goTo} />
      <main tabIndex={-1}>
        <VaultBanner />
        <Waiting />
        <div id="view" role="tabpanel" aria-labelledby={`tab-${tab}`}>
          <View />
        </div>
      </main>
    </>
  );
}

function Announcement() {
  const text = useAnnouncement();
  return (
    <div class="announcement" data-empty={text === ''}>
      <p role="status" aria-live="polite">
        {text}
      </p>
      {text !== '' && (
        <button type="button" class="quiet" onClick={() => announce('')}>
          {strings.close}
        </button>
      )}
    </div>
  );
}
