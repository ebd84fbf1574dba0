/**
 * The built page in a real Chromium, as a window of the app shows it: under the app's own
 * Content-Security-Policy, on an origin of its own, with `window.keyturn` and nothing else.
 *
 * Invariant: the page reaches no network; what breaks the policy, and what the page says of errors, is kept.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { BrowserContext, Page } from 'playwright';
import type { Envelope } from '../../../electron/bridge/channels.ts';

const built = path.join(import.meta.dirname, '..', '..', '..', 'dist', 'renderer');

/** Made up: nobody is asked for it, since every request is answered here. */
const origin = 'https://window.keyturn.example';

/** What the app sends with the page. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
  "base-uri 'none'; worker-src 'none'; form-action 'none'; frame-ancestors 'none'";

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

/** Answers what a window asks, as the main process does. */
export type Answer = (channel: unknown, params: unknown) => Promise<Envelope<unknown>>;

export interface WindowOptions {
  readonly answer: Answer;
  /** The part of the address after `#`. */
  readonly hash?: string;
  readonly scheme?: 'light' | 'dark';
  /** CSS pixels. */
  readonly width?: number;
  readonly height?: number;
  /** English unless given. */
  readonly locale?: string;
  /** Seconds by which the page's clock is ahead of this machine's. */
  readonly later?: number;
  /** Timers of a moment a user could notice wait for `releaseTimers`. */
  readonly areTimersHeld?: boolean;
}

export interface PageWindow {
  readonly page: Page;
  /** Violations of the policy, errors and warnings of the page, requests that nobody answers. */
  readonly complaints: string[];
  /** Tells the page that something changed. */
  readonly change: () => Promise<void>;
  /** Loads it anew, at this address. */
  readonly load: (hash: string) => Promise<void>;
}

interface Shown {
  /** Which load of the page it is: what an earlier one still asks, nobody answers. */
  turn: number;
  readonly options: WindowOptions;
  readonly complaints: string[];
}

export async function windowPage(context: BrowserContext) {
  const page = await context.newPage();
  let shown: Shown | undefined;
  let turns = 0;
  const complain = (text: string): void => void shown?.complaints.push(text);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complain(message.text());
  });
  page.on('pageerror', (error) => complain(error.message));
  await page.exposeBinding('violation', (_source, turn: number, text: string) => {
    if (shown?.turn === turn) complain(text);
  });
  await page.exposeBinding('bridgeCall', async (_source, turn: number, channel: unknown, params: unknown) =>
    shown?.turn === turn ? shown.options.answer(channel, params) : new Promise<never>(() => undefined),
  );
  await page.addInitScript(preload);
  await serve(page, complain);
  const load = async (window: Shown, hash: string): Promise<void> => {
    turns += 1;
    window.turn = turns;
    shown = window;
    const { later = 0, areTimersHeld = false, locale = '' } = window.options;
    // What the page's own address tells the script that runs before it.
    const setup = { turn: turns, later, areTimersHeld, locale };
    await page.goto(`${origin}/?${encodeURIComponent(JSON.stringify(setup))}#${hash}`);
  };
  return {
    page,
    /** What is shown gets no answer any more. */
    end: () => void (shown = undefined),
    /** Ends the window before. */
    async open(options: WindowOptions): Promise<PageWindow> {
      const { hash = '', scheme = 'light', width = 900, height = 800 } = options;
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height });
      // Where the last click was, something of this window would lie under it.
      if (turns > 0) await page.mouse.move(0, 0);
      const window: Shown = { turn: 0, options, complaints: [] };
      await load(window, hash);
      return {
        page,
        complaints: window.complaints,
        change: () => page.evaluate('window.dispatchEvent(new Event("keyturn-change"))'),
        load: (to: string) => load(window, to),
      };
    },
  };
}

/** A page that shows one window after another: a new page costs as much as three that are loaded into it. */
export type WindowPage = Awaited<ReturnType<typeof windowPage>>;

/** In a page of its own. */
export async function openPage(context: BrowserContext, options: WindowOptions): Promise<PageWindow> {
  return (await windowPage(context)).open(options);
}

async function serve(page: Page, complain: (text: string) => void): Promise<void> {
  await page.route('**/*', async (route) => {
    const { pathname, origin: asked } = new URL(route.request().url());
    const name = pathname === '/' ? '/index.html' : pathname;
    const type = types[path.extname(name)];
    if (asked !== origin || type === undefined) {
      complain(`asked for ${route.request().url()}`);
      return route.abort();
    }
    const headers = { 'content-security-policy': policy, 'x-content-type-options': 'nosniff' };
    return route.fulfill({ body: await readFile(path.join(built, name)), contentType: type, headers });
  });
}

/** Milliseconds below which a timer is the page's own business. */
const notice = 300;

/** Runs in the page, before it. Text: what playwright makes of a function depends on how tests are compiled. */
const preload = `if (location.origin === ${JSON.stringify(origin)}) {
  const { turn, later, areTimersHeld, locale } = JSON.parse(decodeURIComponent(location.search.slice(1)));
  const { bridgeCall, violation, setTimeout } = window;
  // By hand: playwright's clock would be every page's of this browser.
  const { now } = Date;
  Date.now = () => now() + later * 1000;
  window.callsMade = 0;
  const bridge = {
    locale,
    call: (channel, params) => {
      window.callsMade += 1;
      return bridgeCall(turn, channel, params);
    },
    onChange: (listener) => {
      window.addEventListener('keyturn-change', listener);
      return () => window.removeEventListener('keyturn-change', listener);
    },
  };
  Object.defineProperty(window, 'keyturn', { value: Object.freeze(bridge) });
  document.addEventListener('securitypolicyviolation', (event) => {
    violation(turn, event.violatedDirective + ' ' + event.blockedURI);
  });
  window.heldTimers = [];
  if (areTimersHeld) window.setTimeout = (run, delay = 0, ...rest) => {
    if (delay < ${notice}) return setTimeout(run, delay, ...rest);
    return window.heldTimers.push({ run, delay });
  };
}`;

/** Runs in the page: waits until it is drawn, and has reacted to its new layout. */
export const drawn = `(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))))`;

/**
 * Runs in the page: waits until the new view has all its lists, and is drawn with them. An answer may lead to another
 * call, so it waits until no new call was made.
 */
export const settled = `(async () => {
  const drawn = ${drawn};
  await drawn();
  for (let asked = -1; asked !== window.callsMade; ) {
    // The test answers calls in their order, so every earlier call is answered before this one.
    await window.keyturn.call('status', {});
    asked = window.callsMade;
    await drawn();
  }
})()`;
