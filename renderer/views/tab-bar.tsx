/** The tabs of the main window, by arrow keys as WAI-ARIA has them: one tab stop, Home and End too. */
import { useRef } from 'preact/hooks';
import { Icon, Logo } from '../parts/icon.tsx';
import { tabs, type Tab } from '../state/route.ts';
import { strings } from '../base/strings.ts';

interface TabBarProps {
  readonly tab: Tab;
  readonly onChoose: (tab: Tab) => void;
  readonly onSearch: () => void;
}

export function TabBar({ tab, onChoose, onSearch }: TabBarProps) {
  const bar = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    // From the tab that has the focus: a second press may come before the first one is shown.
    const from = tabs.find((name) => document.activeElement?.id === `tab-${name}`) ?? tab;
    const next = tabAfter(from, event.key);
    if (next === undefined) return;
    event.preventDefault();
    onChoose(next);
    bar.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  return (
    <header class="bar">
      <h1>
        <Logo /> <span>{strings.appName}</span>
      </h1>
      <div role="tablist" aria-label={strings.tabs.label} ref={bar} onKeyDown={onKeyDown}>
        {tabs.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === tab}
            aria-controls="view"
            tabIndex={name === tab ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {strings.tabs[name]}
          </button>
        ))}
      </div>
      <button type="button" class="search-button" aria-keyshortcuts="Control+K" onClick={onSearch}>
        <Icon name="search" /> <span>{strings.search.button}</span>
      </button>
    </header>
  );
}

function tabAfter(tab: Tab, key: string): Tab | undefined {
  const at = tabs.indexOf(tab);
  switch (key) {
    case 'ArrowRight':
      return tabs[(at + 1) % tabs.length];
    case 'ArrowLeft':
      return tabs.at(at - 1);
    case 'Home':
      return tabs[0];
    case 'End':
      return tabs.at(-1);
    default:
      return undefined;
  }
}
