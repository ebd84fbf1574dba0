/**
 * What a window shows, by the part of its address after `#`.
 *
 * `#overview`, `#servers`, `#apps`, `#activity`, `#settings` and `#welcome` are the main window; a tab's `/ITEM`
 * says which server, app, filter or section of it. `#card` is the card's window with the oldest open question,
 * `#card/ID` with that one (`PageFragment` of electron/bridge/channels.ts).
 */
import { useEffect, useState } from 'preact/hooks';

export const tabs = ['overview', 'servers', 'apps', 'activity', 'settings'] as const;
export type Tab = (typeof tabs)[number];

export type Route =
  | { readonly view: 'tab'; readonly tab: Tab; readonly item?: string }
  | { readonly view: 'start' }
  | { readonly view: 'welcome' }
  | { readonly view: 'card'; readonly id?: string };

function routeOf(hash: string): Route {
  const [name = '', id] = hash.replace(/^#/, '').split('/');
  const tab = tabs.find((known) => known === name);
  if (tab !== undefined) return { view: 'tab', tab, ...(id ? { item: decoded(id) } : {}) };
  if (name === 'welcome') return { view: 'welcome' };
  if (name === 'card') return { view: 'card', ...(id === undefined ? {} : { id }) };
  return { view: 'start' };
}

/** `item` as `goTo` encoded it; empty, which is no item, if somebody else wrote it. */
function decoded(item: string): string {
  try {
    return decodeURIComponent(item);
  } catch {
    return '';
  }
}

/** `item`: the id of a server or an app, or whatever the tab takes. */
export function goTo(tab: Tab, item?: string): void {
  window.location.hash = item === undefined ? tab : `${tab}/${encodeURIComponent(item)}`;
}

/** From a place without tabs; a user who has chosen one meanwhile stays there. */
export function leaveFor(tab: Tab): void {
  if (routeOf(window.location.hash).view !== 'tab') goTo(tab);
}

export function useRoute(): Route {
  const [route, set] = useState(() => routeOf(window.location.hash));
  useEffect(() => {
    const follow = (): void => set(routeOf(window.location.hash));
    window.addEventListener('hashchange', follow);
    // It may have changed between the first drawing and this effect.
    follow();
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  return route;
}
