/** Windows of a test: closed with it, and asked what is wrong with them. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { openPage } from '../support/window-page.ts';
import type { PageWindow, WindowOptions } from '../support/window-page.ts';

export type { Answer, PageWindow, WindowOptions } from '../support/window-page.ts';

const root = path.join(import.meta.dirname, '..', '..');

export async function openWindow(context: BrowserContext, options: WindowOptions): Promise<PageWindow> {
  const opened = await openPage(context, options);
  onTestFinished(() => opened.page.close());
  return opened;
}

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
  return page.evaluate<string[]>(`{
    const isClipped = (element) => element !== null &&
      (getComputedStyle(element).clipPath !== 'none' || isClipped(element.parentElement));
    // What is far from the window keeps the layout of an earlier width until somebody scrolls there.
    for (const row of document.querySelectorAll('.cards > li, .rows > li')) row.style.contentVisibility = 'visible';
    [...document.querySelectorAll('body *')]
    .filter((element) => !element.closest('.announcement, svg'))
    // What only screen readers get is drawn nowhere.
    .filter((element) => !isClipped(element))
    .filter((element) => {
      const { left, right, width } = element.getBoundingClientRect();
      const isCut = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 &&
        !['INPUT', 'SELECT', 'TEXTAREA', 'CODE', 'SPAN', 'BDI', 'STRONG', 'TIME'].includes(element.tagName);
      return width > 0 && (left < -0.5 || right > document.documentElement.clientWidth + 0.5 || isCut);
    })
    .map((element) => element.tagName + '.' + element.className + ' ' + element.textContent.slice(0, 60))
    .concat(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['the page itself'] : []);
  }`);
}
