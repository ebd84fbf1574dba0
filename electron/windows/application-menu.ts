/**
 * The menu of the app's windows. Electron's own has rows that open its tools and other people's pages.
 *
 * Invariant: nothing is in it but what a window can't do without: its keys for larger and smaller letters, to close
 * the window and to quit, and on macOS copy and paste, which are rows of a menu there. Elsewhere its bar is hidden.
 */
import { Menu } from 'electron';
import type { MenuItemConstructorOptions } from 'electron';
import { words } from '../base/words.ts';

export function applicationMenu(platform: NodeJS.Platform = process.platform): Menu {
  const view: MenuItemConstructorOptions = {
    label: words.view,
    submenu: [{ role: 'zoomIn' }, { role: 'zoomOut' }, { role: 'resetZoom' }],
  };
  const file: MenuItemConstructorOptions = {
    label: words.file,
    // A role brings its own key on macOS only.
    submenu: [
      { role: 'close', accelerator: 'CommandOrControl+W' },
      { role: 'quit', accelerator: 'CommandOrControl+Q' },
    ],
  };
  if (platform !== 'darwin') return Menu.buildFromTemplate([file, view]);
  return Menu.buildFromTemplate([{ role: 'appMenu' }, { role: 'editMenu' }, view, { role: 'windowMenu' }]);
}
