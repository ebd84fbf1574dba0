/** Which of the windows this is: the card's, the welcome, or the main one with its tabs. */
import type { ComponentType } from 'preact';
import { useLayoutEffect, useState, useEffect } from 'preact/hooks';
import { Button } from './parts/button.tsx';
import { Activity } from './views/activity/activity.tsx';
import { announce, useAnnouncement } from './state/announcement.ts';
import { Apps } from './views/apps/apps.tsx';
import { CardWindow } from './card-window.tsx';
import { goTo, useRoute, type Route, type Tab } from './state/route.ts';
import { Servers } from './views/servers/servers.tsx';
import { Settings } from './views/settings/settings.tsx';
import { useList } from './state/store.ts';
import { strings } from './base/strings.ts';
import { TabBar } from './views/tab-bar.tsx';
import { PauseBanner, VaultBanner } from './views/vault/vault-banner.tsx';
import { OpenQuestions } from './views/open-requests.tsx';
import { Overview } from './views/overview/overview.tsx';
import { Search } from './views/search.tsx';
import { Welcome } from './views/welcome/welcome.tsx';

export function App() {
  const route = useRoute();
  return (
    <>
      <RouteView route={route} />
      <Announcement />
    </>
  );
}

function RouteView({ route }: { readonly route: Route }) {
  switch (route.view) {
    case 'card':
      return <CardWindow {...(route.id === undefined ? {} : { id: route.id })} />;
    case 'welcome':
      return <Welcome />;
    case 'tab':
      return <MainWindow tab={route.tab} item={route.item} />;
    case 'start':
      return <Start />;
  }
}

/** Without a fragment: the welcome until the user has seen it, then the overview. */
function Start() {
  const { value, refusal } = useList('preferences.get');
  // Not known yet: neither, so that nothing is shown for a moment only.
  if (value === undefined && refusal === undefined) return null;
  return value?.isWelcomed === false ? <Welcome /> : <MainWindow tab="overview" />;
}

const views: Readonly<Record<Tab, ComponentType<{ item?: string }>>> = {
  overview: Overview,
  servers: Servers,
  apps: Apps,
  activity: Activity,
  settings: Settings,
};

function MainWindow({ tab, item }: { readonly tab: Tab; readonly item?: string | undefined }) {
  const View = views[tab];
  const [isSearching, search] = useState(false);
  // An effect after the drawing could take away what was announced on this tab meanwhile.
  useLayoutEffect(() => announce(''), [tab]);
  useKeys({ search: () => search(true) });
  return (
    <>
      <TabBar tab={tab} onChoose={goTo} onSearch={() => search(true)} />
      <main tabIndex={-1}>
        {/* All that waits for the user, in one place. */}
        <div class="inbox">
          <VaultBanner />
          <PauseBanner />
          <OpenQuestions />
        </div>
        <div id="view" role="tabpanel" aria-labelledby={`tab-${tab}`}>
          <View item={item} />
        </div>
      </main>
      {isSearching && <Search onClose={() => search(false)} />}
    </>
  );
}

function Announcement() {
  const { text, undo } = useAnnouncement();
  return (
    <div class="announcement" data-empty={text === ''}>
      <p role="status" aria-live="polite">
        {text}
      </p>
      {undo && <Button text={strings.undo} class="quiet" onPress={undo} />}
      {text !== '' && <Button text={strings.close} class="quiet" onPress={() => announce('')} />}
    </div>
  );
}

/**
 * Keys of the main window: Ctrl+K and Ctrl+F (on a Mac Cmd) search, Ctrl+, opens the settings. None of them decides
 * anything. Ctrl+W and Ctrl+Q belong to the app's menu.
 */
function useKeys({ search }: { readonly search: () => void }): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      // A dialog asks something first.
      if (document.querySelector('dialog[open]')) return;
      if (event.key === 'k' || event.key === 'f') search();
      else if (event.key === ',') goTo('settings');
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  });
}
