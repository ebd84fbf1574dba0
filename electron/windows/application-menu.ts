/**
 * The menu of the app's windows. Electron's own has rows that open its tools and other people's pages.
 *
 * Invariant: nothing is in it but what a window can't do without: its keys for larger and smaller letters, to close
 * the window and to quit, and what a menu of macOS has besides, such as copy and paste. Elsewhere its bar is hidden.
 */
import { Menu, type MenuItemConstructorOptions } from 'electron';
import { words } from '../base/words.ts';

export function applicationMenu(platform: NodeJS.Platform = process.platform): Menu {
  const view: MenuItemConstructorOptions = {
    label: words().view,
    submenu: [named('zoomIn'), named('zoomOut'), named('resetZoom')],
  };
  const file: MenuItemConstructorOptions = {
    label: words().file,
    // Not every role brings a key on each system: `quit` has none on Windows.
    submenu: [
      { ...named('close'), accelerator: 'CommandOrControl+W' },
      { ...named('quit'), accelerator: 'CommandOrControl+Q' },
    ],
  };
  if (platform !== 'darwin') return Menu.buildFromTemplate([file, view]);
  return Menu.buildFromTemplate([
    { role: 'appMenu', submenu: (['about', 'hide', 'hideOthers', 'unhide', 'quit'] as const).map(named) },
    { role: 'editMenu', ...rows('edit', ['undo', 'redo', 'cut', 'copy', 'paste', 'selectAll']) },
    view,
    { role: 'windowMenu', ...rows('window', ['minimize', 'close']) },
  ]);
}

type Role = keyof ReturnType<typeof words>['roles'];

const rows = (name: 'edit' | 'window', roles: readonly Role[]) => ({
  label: words()[name],
  submenu: roles.map(named),
});

/** Electron's own labels are English on every system. */
const named = (role: Role) => ({ role, label: words().roles[role] });
