/**
 * Desktops that show no tray icons (GNOME without an extension): the app says so once, when its last window closes, and
 * offers a window at login.
 *
 * Invariant: a desktop that can't be asked counts as one with a tray. Nothing is switched on without the user's choice.
 */
import { bus, withBus } from '../../src/daemon/system/bus-questions.ts';
import type { AskBus } from '../../src/daemon/system/bus-questions.ts';
import { words } from '../base/words.ts';
import type { LoginItem } from '../system/login-item.ts';
import type { PreferenceFile } from '../system/preferences.ts';

/** StatusNotifierItem: who keeps the list of the icons. */
const watcher = 'org.kde.StatusNotifierWatcher';

export async function showsTray(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): Promise<boolean> {
  const address = env['DBUS_SESSION_BUS_ADDRESS'];
  if (platform !== 'linux' || !address) return true;
  return withBus(address, hasHost).catch(() => true);
}

/** Whether somebody draws the icons. Rejects where that can't be learnt. */
export async function hasHost(ask: AskBus): Promise<boolean> {
  if ((await ask({ ...bus, member: 'NameHasOwner', texts: [watcher] })) !== true) return false;
  const isThere = await ask({
    destination: watcher,
    path: '/StatusNotifierWatcher',
    interface: 'org.freedesktop.DBus.Properties',
    member: 'Get',
    texts: [watcher, 'IsStatusNotifierHostRegistered'],
  });
  return isThere !== false;
}

export interface MissingTrayParts {
  readonly preferences: Pick<PreferenceFile, 'choices' | 'choose'>;
  readonly loginItem: Pick<LoginItem, 'set'>;
  readonly showsTray: () => Promise<boolean>;
  /** Shows a message with these buttons. Resolves with the number of the one that was pressed. */
  readonly ask: (message: string, detail: string, buttons: string[]) => Promise<number>;
  readonly preferencesChanged: () => void;
}

export class MissingTray {
  readonly #parts: MissingTrayParts;
  #isAsking = false;

  constructor(parts: MissingTrayParts) {
    this.#parts = parts;
  }

  /** The last window closed. Throws `file_unreadable`. */
  async windowsClosed(): Promise<void> {
    const { preferences, loginItem, ask, preferencesChanged } = this.#parts;
    if (this.#isAsking || preferences.choices().isTrayTold) return;
    this.#isAsking = true;
    try {
      if (await this.#parts.showsTray()) return;
      // First: it is said once, whatever becomes of the answer.
      preferences.choose({ isTrayTold: true });
      const buttons = [words().noTrayDone, words().noTrayWindow];
      if ((await ask(words().noTray, words().noTrayWhat, buttons)) !== 1) return;
      preferences.choose({ windowAtLogin: true });
      await loginItem.set(true);
      preferencesChanged();
    } finally {
      this.#isAsking = false;
    }
  }
}
