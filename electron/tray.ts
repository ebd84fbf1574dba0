/**
 * The icon in the tray, and its menu.
 *
 * Invariant: shows the last state it was given; a click only reports what was chosen.
 */
import { Menu, nativeTheme, Tray } from 'electron';
import type { MenuItemConstructorOptions } from 'electron';
import { trayIcon } from './files.ts';
import { menuRows } from './menu.ts';
import type { Act, MenuState, Row } from './menu.ts';
import { trayState } from './summary.ts';
import { trayWords } from './words.ts';

export class TrayIcon {
  readonly #tray: Tray;
  readonly #chosen: (act: Act) => void;
  #state: MenuState;
  readonly #redraw = (): void => this.#tray.setImage(this.#icon());

  constructor(state: MenuState, chosen: (act: Act) => void) {
    this.#chosen = chosen;
    this.#state = state;
    this.#tray = new Tray(this.#icon());
    // macOS shows the menu at a click, as every icon there does.
    if (process.platform !== 'darwin') this.#tray.on('click', () => chosen({ does: 'open' }));
    nativeTheme.on('updated', this.#redraw);
    this.show(state);
  }

  show(state: MenuState): void {
    this.#state = state;
    this.#tray.setImage(this.#icon());
    this.#tray.setToolTip(trayWords[trayState(state)]);
    this.#tray.setContextMenu(Menu.buildFromTemplate(this.#items(menuRows(state))));
  }

  remove(): void {
    nativeTheme.off('updated', this.#redraw);
    this.#tray.destroy();
  }

  /** macOS colours a template image itself; elsewhere the panel's colour follows the theme. */
  #icon(): string {
    const isDark = process.platform !== 'darwin' && nativeTheme.shouldUseDarkColors;
    return trayIcon(trayState(this.#state), isDark ? 'dark' : 'light');
  }

  #items(rows: readonly Row[]): MenuItemConstructorOptions[] {
    return rows.map((row) => {
      switch (row.kind) {
        case 'line':
          return { type: 'separator' };
        case 'text':
          return { label: row.label, enabled: false };
        case 'group':
          return { label: row.label, submenu: this.#items(row.rows) };
        case 'act':
          return {
            label: row.label,
            click: () => this.#chosen(row.act),
            ...(row.isChecked === undefined ? {} : { type: 'checkbox', checked: row.isChecked }),
          };
      }
    });
  }
}
