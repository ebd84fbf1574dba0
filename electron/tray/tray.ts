/**
 * The icon in the tray, and its menu.
 *
 * Invariant: shows the last state it was given; a click only reports the action of its row.
 */
import { Menu, nativeTheme, Tray, type MenuItemConstructorOptions, type NativeTheme } from 'electron';
import { trayIcon } from '../base/files.ts';
import { menuRows, type TrayAction, type MenuState, type MenuRow } from './menu.ts';
import { trayShape, trayState } from '../base/summary.ts';
import { words } from '../base/words.ts';

/** Desktops whose panel is dark whatever the windows' theme is. */
const darkPanels = /(?:^|:)(?:GNOME|Unity|Pantheon)(?:$|:)/i;

/** Whether the icon is on something dark. */
export function isPanelDark(
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
  theme: Pick<NativeTheme, 'shouldUseDarkColors' | 'shouldUseDarkColorsForSystemIntegratedUI'>,
): boolean {
  switch (platform) {
    case 'darwin':
      // A template image, which the system colours by itself.
      return false;
    case 'win32':
      // The taskbar has a theme of its own.
      return theme.shouldUseDarkColorsForSystemIntegratedUI;
    default:
      return theme.shouldUseDarkColors || darkPanels.test(env['XDG_CURRENT_DESKTOP'] ?? '');
  }
}

export class TrayIcon {
  readonly #tray: Tray;
  readonly #onAction: (action: TrayAction) => void;
  #state: MenuState;
  /** The rows that the menu has, as text. */
  #rows = '';
  readonly #redraw = (): void => this.#tray.setImage(this.#icon());

  constructor(state: MenuState, onAction: (action: TrayAction) => void) {
    this.#onAction = onAction;
    this.#state = state;
    this.#tray = new Tray(this.#icon());
    // macOS shows the menu at a click, as every icon there does.
    if (process.platform !== 'darwin') this.#tray.on('click', () => onAction({ type: 'open' }));
    nativeTheme.on('updated', this.#redraw);
    this.show(state);
  }

  show(state: MenuState): void {
    this.#state = state;
    this.#tray.setImage(this.#icon());
    this.#tray.setToolTip(words().tray[trayState(state)]);
    const rows = menuRows(state);
    // A new menu closes the one that the user has open.
    if (JSON.stringify(rows) === this.#rows) return;
    this.#rows = JSON.stringify(rows);
    this.#tray.setContextMenu(Menu.buildFromTemplate(this.#items(rows)));
  }

  remove(): void {
    nativeTheme.off('updated', this.#redraw);
    this.#tray.destroy();
  }

  #icon(): string {
    return trayIcon(
      trayShape(this.#state),
      isPanelDark(process.platform, process.env, nativeTheme) ? 'dark' : 'light',
    );
  }

  #items(rows: readonly MenuRow[]): MenuItemConstructorOptions[] {
    return rows.map((row) => {
      switch (row.kind) {
        case 'line':
          return { type: 'separator' };
        case 'text':
          return { label: row.label, enabled: false };
        case 'group':
          return { label: row.label, submenu: this.#items(row.rows) };
        case 'action':
          return {
            label: row.label,
            click: () => this.#onAction(row.action),
            ...(row.isChecked === undefined ? {} : { type: 'checkbox', checked: row.isChecked }),
          };
      }
    });
  }
}
