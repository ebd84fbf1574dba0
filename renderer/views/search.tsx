/** One field that finds servers, apps and settings, from every view. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { strings } from '../base/strings.ts';
import type { SignIn, ListedApiKey, PairedApp } from '../base/views.ts';
import { SearchField } from '../lists/master-detail.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Icon, type IconName } from '../parts/icon.tsx';
import { UntrustedText } from '../parts/untrusted-text.tsx';
import { goTo, type Tab } from '../state/route.ts';
import { useList } from '../state/store.ts';
import { keyItem } from './servers/api-key.tsx';

const words = strings.search;

/** What is found at most: more words of the user's find less. */
const maxFound = 20;

interface Place {
  readonly tab: Tab;
  readonly item: string;
  readonly icon: IconName;
  readonly kind: string;
  readonly name: string;
  /** All the text by which it is found. */
  readonly text: string;
}

export function Search({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const places = usePlaces();
  const found = useMemo(() => find(places, text), [places, text]);
  const form = useRef<HTMLFormElement>(null);
  const go = ({ tab, item }: Place): void => {
    onClose();
    goTo(tab, item);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') moveFocus(event, form.current);
    // In a field of this kind the browser would only empty it.
    if (event.key !== 'Escape') return;
    event.preventDefault();
    onClose();
  };
  return (
    <Dialog title={words.title} onClose={onClose}>
      <form
        class="search"
        ref={form}
        onKeyDown={onKeyDown}
        onSubmit={(event) => {
          event.preventDefault();
          if (found[0]) go(found[0]);
        }}
      >
        <SearchField label={words.label} value={text} onInput={setText} />
        <ul class="picks">
          {found.map((place) => (
            <li key={`${place.tab} ${place.item} ${place.name}`}>
              <button type="button" class="pick found" onClick={() => go(place)}>
                <Icon name={place.icon} />
                <UntrustedText text={place.name} bound={120} />
                <span class="dim small">{place.kind}</span>
              </button>
            </li>
          ))}
        </ul>
        <p class="dim small" role="status">
          {text.trim() !== '' && found.length === 0 ? words.nothing : words.hint}
        </p>
      </form>
    </Dialog>
  );
}

/** From the field to the first place, and from place to place. */
function moveFocus(event: KeyboardEvent, form: HTMLFormElement | null): void {
  event.preventDefault();
  const all = [...(form?.querySelectorAll('button') ?? [])];
  const at = all.findIndex((button) => button === document.activeElement);
  all[event.key === 'ArrowDown' ? Math.min(at + 1, all.length - 1) : Math.max(at - 1, 0)]?.focus();
}

function usePlaces(): readonly Place[] {
  const signIns = useList('signIn.list').value?.signIns;
  const keys = useList('apiKey.list').value?.apiKeys;
  const apps = useList('app.list').value?.apps;
  return useMemo(
    () => [
      ...(signIns ?? []).map(signInPlace),
      ...(keys ?? []).map(keyPlace),
      ...(apps ?? []).map(appPlace),
      ...settingPlaces,
    ],
    [signIns, keys, apps],
  );
}

const signInPlace = ({ id, endpoint, issuer, account = '', scope, apps }: SignIn): Place => ({
  tab: 'servers',
  item: id,
  icon: 'server',
  kind: words.server,
  name: endpoint,
  text: [endpoint, issuer, account, scope, ...apps].join(' '),
});

const keyPlace = ({ resource, apps }: ListedApiKey): Place => ({
  tab: 'servers',
  item: keyItem(resource),
  icon: 'key',
  kind: strings.servers.apiKey,
  name: resource,
  text: [resource, ...apps].join(' '),
});

const appPlace = ({ appId, name, executable = '', permissions }: PairedApp): Place => ({
  tab: 'apps',
  item: appId,
  icon: 'app',
  kind: words.app,
  name,
  text: [name, executable, ...permissions.map(({ resource }) => resource)].join(' '),
});

type Section = keyof typeof strings.settings.sectionNames;

const { settings, pause, registered, proxies } = strings;

/** What a user may look for, and the section in which it is. */
const settingSections: readonly (readonly [label: string, section: Section])[] = [
  [settings.openAtLogin, 'general'],
  [settings.notifications, 'general'],
  [settings.lockWithScreen, 'general'],
  [settings.defaultDuration, 'general'],
  [pause.pause, 'security'],
  [pause.revokeAll, 'security'],
  [settings.lock, 'security'],
  [settings.lockAfter, 'security'],
  [settings.changePassphrase, 'security'],
  [settings.exceptions, 'security'],
  [registered.title, 'providers'],
  [settings.clientMetadata, 'providers'],
  [proxies.title, 'advanced'],
  [settings.broker, 'advanced'],
];

const settingPlaces: readonly Place[] = settingSections.map(([name, section]) => ({
  tab: 'settings',
  item: section,
  icon: 'settings',
  kind: settings.sectionNames[section],
  name,
  text: name,
}));

/** Every word has to be there. Nothing for no word: the lists show everything. */
function find(places: readonly Place[], text: string): Place[] {
  const wanted = text.trim().toLowerCase().split(/\s+/);
  if (wanted[0] === '') return [];
  return places
    .filter((place) => wanted.every((word) => `${place.text} ${place.kind}`.toLowerCase().includes(word)))
    .slice(0, maxFound);
}
