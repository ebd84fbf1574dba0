/**
 * What a window shows, by the part of its address after `#`.
 *
 * `#servers`, `#programs`, `#activity`, `#settings` and `#welcome` are the main window; `#card` is the
 * card's window with the oldest open question, `#card/ID` with that one (`Place` of electron/bridge/channels.ts).
 */
import { useEffect, useState } from 'preact/hooks';

export const tabs = ['servers', 'programs', 'activity', 'settings'] as const;
export type Tab = (typeof tabs)[number];

export type Route =
  | { readonly view: 'tab'; readonly tab: Tab }
  | { readonly view: 'start' }
  | { readonly view: 'welcome' }
  | { readonly view: 'card'; readonly id?: string };

export function routeOf(hash: string): Route {
  const [name = '', id] = hash.replace(/^#/, '').split('/');
  const tab = tabs.find((known) => known === name);
  if (tab !== undefined) return { view: 'tab', tab };
  if (name === 'welcome') return { view: 'welcome' };
  if (name === 'card') return { view: 'card', ...(id === undefined ? {} : { id }) };
  return { view: 'start' };
}

export function goTo(tab: Tab): void {
  window.location.hash = tab;
}

/** From a place without tabs; a person who has chosen one meanwhile stays there. */
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
