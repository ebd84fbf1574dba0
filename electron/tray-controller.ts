/**
 * Keeps icon, menu, notifications and the card window up to date with the broker, and does what the user chooses
 * there.
 *
 * Invariant: shows what the broker says now, and remembers only what it read last.
 */
import { net } from 'electron';
import { repeatedWork } from './tray/repeated-work.ts';
import type { InProcessOwner } from '../src/daemon/methods/dispatch.ts';
import type { Change } from './bridge/channels.ts';
import type { LoginItem } from './system/login-item.ts';
import type { TrayAction } from './tray/menu.ts';
import { Notifications } from './tray/notifications.ts';
import type { PreferenceFile } from './system/preferences.ts';
import { locksWithScreen, type ScreenLock } from './system/screen-lock.ts';
import type { SignInPages } from './windows/sign-in-pages.ts';
import { cardOf, isCard, changesSince, readSummary, type Summary } from './base/summary.ts';
import { TrayIcon } from './tray/tray.ts';
import type { Windows } from './windows/windows.ts';

export interface TrayControllerParts {
  readonly owner: InProcessOwner;
  readonly windows: Windows;
  readonly preferences: PreferenceFile;
  readonly loginItem: LoginItem;
  readonly screenLock: Pick<ScreenLock, 'close'>;
  readonly signInPages: SignInPages;
  readonly quit: () => void;
  /** The network is back. */
  readonly online: () => void;
  /** One line of the log. */
  readonly log: (line: string) => void;
}

/** Milliseconds between two reads if nothing else causes one: no event says that the network changed. */
const refreshInterval = 60_000;

const nothing: Summary = {
  questions: [],
  servers: [],
  isLocked: false,
  isVaultFailed: false,
  rows: [],
  needsPassphrase: false,
  isOnline: true,
};

export class TrayController {
  readonly #parts: TrayControllerParts;
  #tray: TrayIcon | undefined;
  readonly #notifications: Notifications;
  readonly #timer: NodeJS.Timeout;
  #last = nothing;
  #isClosed = false;
  /** Ids of the questions that had a card at the last look. */
  #raised: ReadonlySet<string> = new Set();
  /** Reads the broker's state and shows it. Calls during a read lead to one more after it. */
  readonly refresh = repeatedWork(() => this.#showNewest());

  constructor(parts: TrayControllerParts) {
    this.#parts = parts;
    this.#notifications = new Notifications((action) => void this.perform(action), parts.log);
    this.#timer = setInterval(() => void this.refresh(), refreshInterval);
    this.#timer.unref();
  }

  /** Answers false where the system can't show an icon: the app goes on with its windows. */
  async makeTray(): Promise<boolean> {
    if (this.#isClosed) return false;
    try {
      this.#tray = new TrayIcon({ ...nothing, startsAtLogin: false }, (action) => void this.perform(action));
    } catch (error) {
      this.#failed(error);
      return false;
    }
    await this.refresh();
    return true;
  }

  /** The broker, or this app, changed something: every page reads again, and so do we. */
  noteChange(change: Change): void {
    this.#parts.windows.notifyChange(change);
    void this.refresh();
  }

  async #showNewest(): Promise<void> {
    try {
      await this.#show(await readSummary(this.#parts.owner, net.isOnline()));
    } catch (error) {
      if (!this.#isClosed) this.#failed(error);
    }
  }

  async #show(summary: Summary): Promise<void> {
    const startsAtLogin = await this.#parts.loginItem.isOn();
    if (this.#isClosed) return;
    this.#tray?.show({ ...summary, startsAtLogin });
    const before = this.#last;
    this.#last = summary;
    this.#notifications.keepOnly(summary.questions);
    const changes = changesSince(before, summary);
    if (this.#wantsNotifications()) this.#notifications.show(changes);
    if (summary.isOnline && !before.isOnline) this.#parts.online();
    // A sign-in whose page opens after a click that was made already needs no card.
    const { signInPages, windows } = this.#parts;
    const asked = summary.questions.filter((question) => isCard(question) || signInPages.waits(question));
    const fresh = asked.filter(({ id }) => !this.#raised.has(id));
    await windows.updateCard({
      open: summary.questions.map(cardOf),
      cards: asked.map(cardOf),
      fresh: fresh.map(cardOf),
    });
    // Afterwards: a card whose page could not be loaded is tried again at the next look.
    this.#raised = new Set(asked.map(({ id }) => id));
  }

  /** What the user chose; yes where that can't be read. */
  #wantsNotifications(): boolean {
    try {
      return this.#parts.preferences.choices().notifications;
    } catch (error) {
      this.#failed(error);
      return true;
    }
  }

  /** A row of the menu or a notification was chosen; a failure is noted in the log. */
  async perform(action: TrayAction): Promise<void> {
    try {
      await this.#run(action);
    } catch (error) {
      this.#failed(error);
    }
  }

  async #run(action: TrayAction): Promise<void> {
    const { owner, windows, signInPages, loginItem, quit } = this.#parts;
    switch (action.type) {
      case 'card':
        return windows.show(`card/${action.id}`);
      case 'page':
        windows.noteAnswer(action.id);
        return signInPages.open(action.id);
      case 'signIn':
        await signInPages.withPage(action.server, () =>
          owner.call('signIn.start', { resource: action.server }),
        );
        return;
      case 'startAtLogin':
        await loginItem.set(action.isOn);
        this.noteChange('preferences.changed');
        return;
      case 'lock':
        return this.lock();
      case 'unlock':
        return this.#unlock();
      case 'pause':
        return this.#pause(action.seconds);
      case 'open':
        return windows.show('');
      case 'quit':
        quit();
    }
  }

  async lock(): Promise<void> {
    await this.#parts.owner.call('vault.lock', {});
    await this.refresh();
  }

  /** Resuming needs a press in the window. */
  async #pause(seconds: number | undefined): Promise<void> {
    const until = seconds === undefined ? {} : { until: Math.floor(Date.now() / 1000) + seconds };
    try {
      await this.#parts.owner.call('pause', until);
    } finally {
      await this.refresh();
    }
  }

  /** A passphrase is typed in the window; a keyring asks by itself. */
  async #unlock(): Promise<void> {
    const { owner, windows } = this.#parts;
    if (this.#last.needsPassphrase) return windows.show('');
    try {
      await owner.call('vault.unlock', {});
    } finally {
      await this.refresh();
    }
  }

  /** The screen was locked: the vault too, if the user wants that. */
  screenLocked(): void {
    const lock = async (): Promise<void> => {
      if (await locksWithScreen(this.#parts.owner)) await this.lock();
    };
    void lock().catch((error: unknown) => this.#failed(error));
  }

  /** Locks of the screen are no longer heard: the vault is locked as if the screen had been. */
  screenLockLost(): void {
    this.#parts.log('app: locks of the screen are not heard any more');
    this.screenLocked();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#tray?.remove();
    this.#notifications.close();
    this.#parts.screenLock.close();
    this.#parts.owner.close();
  }

  /** Only the name: the message of a fault may quote anything, and a refusal shows where somebody asked. */
  #failed(error: unknown): void {
    this.#parts.log(`app: ${error instanceof Error ? error.name : 'not an Error'}`);
  }
}
