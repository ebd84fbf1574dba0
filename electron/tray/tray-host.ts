/**
 * The wait for what shows icons. At login the app may start before the panel. Electron looks for it once, when the first
 * icon is made; an icon that is made too early stays unseen for the whole session.
 *
 * Invariant: it ends after 60 looks, whatever the desktop does.
 */
import type { After } from '../../src/ipc/wire/timer.ts';

/** Seconds: a slow machine shows its panel within them. */
const patience = 60;

/** Looks once a second. False: nothing shows icons, and nothing will. */
export async function untilTrayIsShown(showsTray: () => Promise<boolean>, after: After): Promise<boolean> {
  for (let seconds = 0; seconds < patience; seconds += 1) {
    if (await showsTray()) return true;
    await new Promise<void>((resolve) => void after(1000, resolve));
  }
  return showsTray();
}
