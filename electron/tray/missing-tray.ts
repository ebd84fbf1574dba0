/**
 * Desktops that show no tray icons (GNOME without an extension): the app says so once, when its last window closes, and
 * offers a window at login.
 *
 * Invariant: a desktop that can't be asked counts as one with a tray. Nothing is switched on without the user's choice.
 */
import { bus, withBus, type AskBus } from '../../src/daemon/system/bus-questions.ts';
import type { After } from '../../src/ipc/wire/timer.ts';
import { words } from '../base/words.ts';
import { askOfTray } from '../windows/dialogs.ts';
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

/** Seconds: a slow machine shows its panel within them. */
const patience = 60;

/**
 * The wait for what shows icons, a look a second: at login the app may start before the panel. Electron looks for it
 * once, when the first icon is made; an icon that is made too early stays unseen. False: nothing shows icons.
 */
export async function untilTrayIsShown(isShown: () => Promise<boolean>, after: After): Promise<boolean> {
  for (let seconds = 0; seconds < patience; seconds += 1) {
    if (await isShown()) return true;
    await new Promise<void>((resolve) => void after(1000, resolve));
  }
  return isShown();
}

interface MissingTrayParts {
  readonly preferences: Pick<PreferenceFile, 'choices' | 'choose'>;
  readonly loginItem: Pick<LoginItem, 'set'>;
  readonly isShown: () => Promise<boolean>;
  readonly preferencesChanged: () => void;
}

/** What to do when the last window closes. It throws `file_unreadable`. */
export function missingTray(parts: MissingTrayParts): () => Promise<void> {
  const { preferences, loginItem, isShown, preferencesChanged } = parts;
  let isAsking = false;
  return async () => {
    if (isAsking || preferences.choices().isTrayTold) return;
    isAsking = true;
    try {
      if (await isShown()) return;
      // First: it is said once, whatever becomes of the answer.
      preferences.choose({ isTrayTold: true });
      const buttons = [words().noTrayDone, words().noTrayWindow];
      if ((await askOfTray(words().noTray, words().noTrayWhat, buttons)) !== 1) return;
      preferences.choose({ windowAtLogin: true });
      await loginItem.set(true);
      preferencesChanged();
    } finally {
      isAsking = false;
    }
  };
}
