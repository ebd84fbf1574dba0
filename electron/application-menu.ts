/**
 * The menu of the app's windows. Electron's own has rows that open its tools and other people's pages.
 *
 * Invariant: nothing is in it but what a system can't do without: on macOS copy, paste and quit are rows of
 * a menu; elsewhere there is none.
 */
import { Menu } from 'electron';

export function applicationMenu(platform: NodeJS.Platform = process.platform): Menu | null {
  if (platform !== 'darwin') return null;
  return Menu.buildFromTemplate([{ role: 'appMenu' }, { role: 'editMenu' }, { role: 'windowMenu' }]);
}
