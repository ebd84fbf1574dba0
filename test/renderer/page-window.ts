/**
 * The built page in a real Chromium, as a window of the app shows it: under the app's own
 * Content-Security-Policy, on an origin of its own, with `window.keyturn` and nothing else.
 *
 * Invariant: the page reaches no network; what breaks the policy, and what the page says of errors, is kept.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { Answer } from './desk.ts';

const root = path.join(import.meta.dirname, '..', '..');
const built = path.join(root, 'dist', 'renderer');

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

export interface WindowOptions {
  readonly answer: Answer;
  /** The part of the address after `#`. */
  readonly hash?: string;
  readonly scheme?: 'light' | 'dark';
  /** CSS pixels. */
  readonly width?: number;
  /** Seconds by which the page's clock is ahead of the broker's. */
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

export async function openWindow(context: BrowserContext, options: WindowOptions): Promise<PageWindow> {
  const { answer, hash = '', scheme = 'light', width = 900, later = 0, areTimersHeld = false } = options;
  const page = await context.newPage();
  onTestFinished(() => page.close());
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
  await page.setViewportSize({ width, height: 800 });
  await page.exposeBinding('violation', (_source, text: string) => void complaints.push(text));
  await page.exposeBinding('bridgeCall', (_source, channel: unknown, params: unknown) =>
    answer(channel, params),
  );
  // By hand: playwright's clock would be every page's of this browser.
  await page.addInitScript(`{ const { now } = Date; Date.now = () => now() + ${later * 1000}; }`);
  if (areTimersHeld) await page.addInitScript(holdTimers);
  await page.addInitScript(preload);
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
  await page.goto(`${origin}/#${hash}`);
  return {
    page,
    complaints,
    change: () => page.evaluate('window.dispatchEvent(new Event("keyturn-change"))'),
  };
}

/** Runs in the page, before it. Text: what playwright makes of a function depends on how tests are compiled. */
const preload = `{
  const { bridgeCall, violation } = window;
  const bridge = {
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

/** Lets held timers run; answers how long each would have taken, in milliseconds. */
export async function releaseTimers(page: Page): Promise<number[]> {
  return page.evaluate<number[]>(`window.heldTimers.splice(0).map(({ run, delay }) => (run(), delay))`);
}

const axe = await readFile(path.join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

/** What axe-core finds, as sentences. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate<string[]>(
    `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary)))`,
  );
}

/** What is wider than the window, or cut: nobody should have to scroll sideways. */
export async function overflowing(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll('body *')]
    .filter((element) => !element.closest('.visually-hidden, .announcement, svg, .bar h1'))
    .filter((element) => {
      const { left, right, width } = element.getBoundingClientRect();
      const isCut = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 &&
        !['INPUT', 'SELECT', 'TEXTAREA', 'CODE', 'SPAN', 'BDI', 'STRONG', 'TIME'].includes(element.tagName);
      return width > 0 && (left < -0.5 || right > document.documentElement.clientWidth + 0.5 || isCut);
    })
    .map((element) => element.tagName + '.' + element.className + ' ' + element.textContent.slice(0, 60))
    .concat(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['the page itself'] : [])`);
}
