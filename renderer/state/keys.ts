/**
 * Keys of the main window: Ctrl+K and Ctrl+F (on a Mac Cmd) search, Ctrl+, opens the settings.
 *
 * Invariant: none of them decides anything. Ctrl+W and Ctrl+Q belong to the app's menu.
 */
import { useEffect } from 'preact/hooks';
import { goTo } from './route.ts';

export function useKeys({ search }: { readonly search: () => void }): void {
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
