/**
 * The menu of the app's windows. Electron's own has rows that open its tools and other people's pages.
 *
 * Invariant: nothing is in it but what a window can't do without: its keys for larger and smaller letters,
 * and on macOS copy, paste and quit, which are rows of a menu there. Elsewhere its bar is hidden.
 */
import { Menu } from 'electron';
import type { MenuItemConstructorOptions } from 'electron';
import { words } from '../base/words.ts';

export function applicationMenu(platform: NodeJS.Platform = process.platform): Menu {
  const view: MenuItemConstructorOptions = {
    label: words.view,
    submenu: [{ role: 'zoomIn' }, { role: 'zoomOut' }, { role: 'resetZoom' }],
  };
  if (platform !== 'darwin') return Menu.buildFromTemplate([view]);
  return Menu.buildFromTemplate([{ role: 'appMenu' }, { role: 'editMenu' }, view, { role: 'windowMenu' }]);
}
