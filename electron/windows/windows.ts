/**
 * Our windows: the main one and the card of a question, made when they are needed.
 *
 * Invariant: every window is sandboxed and isolated, shows our own page only, and is known here; what
 * its guard knows of focus and presses comes from the window itself, not from its page.
 */
import { BrowserWindow, nativeTheme, screen } from 'electron';
import type { BrowserWindowConstructorOptions, WebContents } from 'electron';
import { mutex } from '../../src/base/mutex.ts';
import type { After } from '../../src/ipc/wire/timer.ts';
import { CardGuard } from './card-guard.ts';
import type { Change, PageFragment } from '../bridge/channels.ts';
import { windowIcon } from '../base/files.ts';
import { changeMessage, localeArgument } from '../bridge/messages.ts';
import { locale } from '../base/words.ts';
import { entryPage } from './page.ts';
import type { PreferenceFile, Size } from '../system/preferences.ts';

type WindowName = 'main' | 'card';

export interface AppWindow {
  readonly browser: BrowserWindow;
  readonly guard: CardGuard;
  /** Tells the guard whether the window is in front now. */
  updateGuard(): void;
}

const sizes: Readonly<Record<WindowName, Size>> = {
  main: { width: 960, height: 680 },
  card: { width: 480, height: 640 },
};

/** A card takes no more of the screen's height: what is behind stays in view. */
const mostOfScreen = 0.9;

const minHeight = 320;

/** Milliseconds for which the window of an answered card waits for the app's next question. */
const followUp = 3000;

/** As the page's own style has them, so that no other colour is seen before it is drawn. */
export const background = { light: '#f4f5f7', dark: '#16181c' } as const;

export interface WindowParts {
  readonly preferences: Pick<PreferenceFile, 'size' | 'saveSize'>;
  /** Absolute path of the built preload.ts. */
  readonly preload: string;
  /** Milliseconds since some moment; must not jump. */
  readonly now: () => number;
  /** A page's process ended by itself; what it showed. */
  readonly crashed: (shown: PageFragment) => void;
  /** The user's session is about to end, and waits a little for a program that ends by itself. */
  readonly sessionEnds: () => void;
  readonly after: After;
}

/** Names of cards: each the id of the question that opened it. */
export interface OpenCards {
  /** Those of all open questions. */
  readonly open: readonly string[];
  /** Those that are answered in the card's window, oldest first. */
  readonly cards: readonly string[];
  /** Those with a question that was not there before. */
  readonly fresh: readonly string[];
}

export class Windows {
  readonly #parts: WindowParts;
  readonly #open = new Map<WindowName, AppWindow>();
  /** The card that the card window was brought to, and whether the user answers it. */
  #card: { readonly id: string; isAnswered: boolean; leadsOn: boolean } | undefined;
  /** A page that is sent elsewhere while it loads counts as failed. */
  readonly #exclusive = mutex();

  constructor(parts: WindowParts) {
    this.#parts = parts;
    nativeTheme.on('updated', () => {
      for (const { browser } of this.#open.values()) browser.setBackgroundColor(backgroundNow());
    });
  }

  /** Shows the main window, or the card window at this card. What the user chose on a card that is open stays. */
  show(fragment: PageFragment): Promise<void> {
    return this.#exclusive(async () => {
      const name = fragment === '' ? 'main' : 'card';
      const open = this.#open.get(name);
      const { browser } = open ?? this.#create(name);
      const isThere = open !== undefined && (fragment === '' || fragment === `card/${this.#card?.id}`);
      if (!isThere) await this.#load(browser, fragment);
      bringForward(browser);
    });
  }

  /**
   * Shows the open questions in the card window. A new card opens by itself and leaves the keyboard focus where it
   * is. After an answer the next card takes its place. The window closes after the last card if the user answered
   * it. If that card ended without an answer, the window stays and says so: a click that was meant for the card must
   * not hit what is below.
   */
  updateCard({ open, cards, fresh }: OpenCards): Promise<void> {
    return this.#exclusive(async () => {
      const window = this.#open.get('card');
      if (window && this.#card && open.includes(this.#card.id)) return;
      const [next] = window ? cards : fresh;
      if (next === undefined) {
        if (window && this.#card?.isAnswered) this.#closeCard(window, this.#card.leadsOn);
        return;
      }
      const { browser } = window ?? this.#create('card');
      await this.#load(browser, `card/${next}`);
      if (browser.isDestroyed() || browser.isFocused()) return;
      browser.showInactive();
      // Where the desktop shows a new window behind the others.
      browser.flashFrame(true);
    });
  }

  /** A change of what follows `#` loads nothing again; the page gets an event. */
  async #load(browser: BrowserWindow, fragment: PageFragment): Promise<void> {
    if (fragment !== '')
      this.#card = { id: fragment.slice('card/'.length), isAnswered: false, leadsOn: false };
    try {
      await browser.loadURL(fragment === '' ? entryPage : `${entryPage}#${fragment}`);
    } catch (error) {
      // Else an empty window would be brought forward forever. One that was closed meanwhile is gone.
      if (!browser.isDestroyed()) browser.destroy();
      throw error;
    }
  }

  /** Gives the card's window the height of its card (CSS pixels), as far as the screen has it. No other window's. */
  fitCard({ browser }: AppWindow, height: number): void {
    if (this.#open.get('card')?.browser !== browser) return;
    const { workArea } = screen.getDisplayMatching(browser.getBounds());
    const [width = sizes.card.width] = browser.getContentSize();
    const most = Math.floor(workArea.height * mostOfScreen);
    browser.setContentSize(width, Math.max(minHeight, Math.min(height, most)));
  }

  /** `leadsOn`: the next question, which may come at once, takes this card's place in the same window. */
  #closeCard({ browser }: AppWindow, leadsOn: boolean): void {
    if (!leadsOn) return browser.close();
    const answered = this.#card;
    this.#parts.after(followUp, () => {
      if (!browser.isDestroyed() && this.#card === answered) browser.close();
    });
  }

  /** The user answers this card, in one of our windows. `leadsOn`: the app usually asks more after it. */
  noteAnswer(id: string, leadsOn = false): void {
    if (this.#card?.id !== id) return;
    this.#card.isAnswered = true;
    this.#card.leadsOn = leadsOn;
  }

  /** The window of these contents, if it is one of ours. */
  windowFor(contents: WebContents): AppWindow | undefined {
    return [...this.#open.values()].find(({ browser }) => browser.webContents === contents);
  }

  /** Tells every page to read again. */
  notifyChange(change: Change): void {
    for (const { browser } of this.#open.values()) browser.webContents.send(changeMessage, change);
  }

  #create(name: WindowName): AppWindow {
    const { preferences, preload, now, crashed, sessionEnds } = this.#parts;
    const browser = new BrowserWindow(
      windowOptions(preload, (name === 'main' ? preferences.size(name) : undefined) ?? sizes[name]),
    );
    const guard = new CardGuard(now);
    const updateGuard = (): void =>
      guard.setAttentive(
        !browser.isDestroyed() && browser.isVisible() && browser.isFocused() && !browser.isMinimized(),
      );
    browser.on('focus', () => browser.flashFrame(false));
    browser.on('focus', updateGuard).on('blur', updateGuard).on('show', updateGuard).on('hide', updateGuard);
    browser.on('minimize', updateGuard).on('restore', updateGuard);
    const { webContents } = browser;
    webContents.on('input-event', (_event, { type, modifiers }) => guard.input(type, modifiers));
    webContents.on('did-start-navigation', ({ isMainFrame, isSameDocument }) => {
      if (isMainFrame && !isSameDocument) guard.pageChanged();
    });
    webContents.on('render-process-gone', () => {
      const shown: PageFragment = name === 'card' && this.#card ? `card/${this.#card.id}` : '';
      // A page that crashed shows nothing; the next opening makes a new one.
      browser.destroy();
      crashed(shown);
    });
    // Windows only, where the system asks windows and no others.
    browser.on('query-session-end', (event) => {
      event.preventDefault();
      sessionEnds();
    });
    // The card's is that of its card.
    if (name === 'main') browser.on('close', () => preferences.saveSize(name, browser.getNormalBounds()));
    const window = { browser, guard, updateGuard };
    const forget = (): void => void (this.#open.get(name) === window && this.#open.delete(name));
    // Its page takes a moment to end: what comes meanwhile is shown in a window of its own.
    browser.on('close', forget).on('closed', forget);
    this.#open.set(name, window);
    return window;
  }
}

/** Every right that a page could have is off; hardening.ts denies the rest. */
export function windowOptions(preload: string, size: Size): BrowserWindowConstructorOptions {
  return {
    ...size,
    minWidth: 320,
    minHeight,
    // Shown once it is drawn, on the page's own colour.
    show: false,
    backgroundColor: backgroundNow(),
    autoHideMenuBar: true,
    ...(process.platform === 'linux' ? { icon: windowIcon } : {}),
    webPreferences: {
      preload,
      additionalArguments: [localeArgument + locale()],
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      nodeIntegrationInSubFrames: false,
      webSecurity: true,
      allowRunningInsecureContent: false,
      experimentalFeatures: false,
      webviewTag: false,
      navigateOnDragDrop: false,
      plugins: false,
      spellcheck: false,
      devTools: false,
    },
  };
}

function backgroundNow(): string {
  return background[nativeTheme.shouldUseDarkColors ? 'dark' : 'light'];
}

function bringForward(browser: BrowserWindow): void {
  if (browser.isDestroyed()) return;
  if (browser.isMinimized()) browser.restore();
  browser.show();
  browser.focus();
}
