/**
 * The home as a start finds it: its leftovers cleared, the process shielded, its id and settings read.
 *
 * Invariant: no vault is opened. A home whose files don't belong together is opened as well, so that it can say so
 * and be reset; it serves nothing else.
 */
import { shieldGaps } from '../base/shield.ts';
import type { ShieldGap } from '../base/shield.ts';
import { syncFolder } from '../base/private-file.ts';
import { openHome, refuseEarlier } from './home/home.ts';
import type { Home } from './home/home.ts';
import { clearLeftovers } from './home/leftovers.ts';
import type { DaemonOptions } from './options.ts';
import { homeMismatch, wasOpened } from './home/mismatched-home.ts';
import type { Mismatch } from './home/mismatched-home.ts';
import { SettingsBook } from './settings/settings-book.ts';

export interface OpenedHome {
  readonly home: Home;
  readonly book: SettingsBook;
  /** A vault of this home was opened before, as far as its files tell. */
  readonly isOpened: boolean;
  /** Why nothing is served. */
  readonly mismatch: Mismatch | undefined;
  /** What the process could not be shielded from. */
  readonly unshielded: readonly ShieldGap[];
}

/** The caller holds the home's lock. Throws `file_unreadable`, `invalid_request`. */
export async function openLockedHome(options: DaemonOptions): Promise<OpenedHome> {
  const { paths, env, log } = options;
  await refuseEarlier(paths);
  await clearLeftovers(paths, log.write);
  const unshielded = await options.shield();
  for (const gap of unshielded) log.write(`not shielded: ${shieldGaps[gap]}`, 'warn');
  const home = await openHome(paths);
  const book = new SettingsBook({
    paths,
    env,
    isNewHome: home.isNew,
    // Recorded settings win in the app: what a desktop session happens to set is nobody's decision.
    autoStarted: options.autoStarted || options.desk === true,
  });
  if (home.isNew) await syncFolder(paths.config);
  const isOpened = await wasOpened(home);
  const mismatch = homeMismatch(home, book.written, isOpened);
  if (mismatch) log.write(mismatch.message, 'error');
  return { home, book, isOpened, mismatch, unshielded };
}
