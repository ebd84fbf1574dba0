/**
 * The built page in a real Chromium, as a window of the app shows it: under the app's own
 * Content-Security-Policy, on an origin of its own, with `window.keyturn` and nothing else.
 *
 * Invariant: the page reaches no network; what breaks the policy, and what the page says of errors, is kept.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import type { Envelope } from '../../../electron/bridge/channels.ts';
import { languageQuery } from '../../../words/language.ts';
import type { Spoken } from '../../../words/language.ts';

const built = path.join(import.meta.dirname, '..', '..', '..', 'dist', 'renderer');

/** Made up: nobody is asked for it, since every request is answered here. */
const origin = 'https://window.keyturn.example';

/** What the app sends with the page. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

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
  readonly spoken?: Spoken;
  /** Seconds by which the page's clock is ahead of this machine's. */
  readonly later?: number;
  /** Timers of a moment a person could notice wait for `releaseTimers`. */
  readonly areTimersHeld?: boolean;
}

export interface PageWindow {
  readonly page: Page;
  /** Violations of the policy, errors and warnings of the page, requests that nobody answers. */
  readonly complaints: string[];
  /** Tells the page that something changed. */
  readonly change: () => Promise<void>;
}

export async function openPage(context: BrowserContext, options: WindowOptions): Promise<PageWindow> {
  const { answer, hash = '', scheme = 'light', width = 900, height = 800 } = options;
  const { later = 0, areTimersHeld = false, spoken } = options;
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
  await page.setViewportSize({ width, height });
  await page.exposeBinding('violation', (_source, text: string) => void complaints.push(text));
  await page.exposeBinding('bridgeCall', (_source, channel: unknown, params: unknown) =>
    answer(channel, params),
  );
  // By hand: playwright's clock would be every page's of this browser.
  await page.addInitScript(`{ const { now } = Date; Date.now = () => now() + ${later * 1000}; }`);
  if (areTimersHeld) await page.addInitScript(holdTimers);
  await page.addInitScript(preload(spoken ? languageQuery(spoken) : ''));
  await serve(page, complaints);
  await page.goto(`${origin}/#${hash}`);
  return {
    page,
    complaints,
    change: () => page.evaluate('window.dispatchEvent(new Event("keyturn-change"))'),
  };
}

async function serve(page: Page, complaints: string[]): Promise<void> {
  await page.route('**/*', async (route) => {
    const { pathname, origin: asked } = new URL(route.request().url());
    const name = pathname === '/' ? '/index.html' : pathname;
    const type = types[path.extname(name)];
    if (asked !== origin || type === undefined) {
      complaints.push(`asked for ${route.request().url()}`);
      return route.abort();
    }
    const headers = { 'content-security-policy': policy, 'x-content-type-options': 'nosniff' };
    return route.fulfill({
      body: await readFile(path.join(built, name)),
      contentType: type,
      headers,
    });
  });
}

/** Runs in the page, before it. Text: what playwright makes of a function depends on how tests are compiled. */
const preload = (language: string): string => `{
  const { bridgeCall, violation } = window;
  const bridge = {
    language: ${JSON.stringify(language)},
    call: (channel, params) => bridgeCall(channel, params),
    onChange: (listener) => {
      window.addEventListener('keyturn-change', listener);
      return () => window.removeEventListener('keyturn-change', listener);
    },
  };
  Object.defineProperty(window, 'keyturn', { value: Object.freeze(bridge) });
  document.addEventListener('securitypolicyviolation', (event) => {
    violation(event.violatedDirective + ' ' + event.blockedURI);
  });
}`;

/** Milliseconds below which a timer is the page's own business. */
const notice = 300;

const holdTimers = `{
  const { setTimeout } = window;
  window.heldTimers = [];
  window.setTimeout = (run, delay = 0, ...rest) => {
    if (delay < ${notice}) return setTimeout(run, delay, ...rest);
    return window.heldTimers.push({ run, delay });
  };
}`;
