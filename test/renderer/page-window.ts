/** Windows of a test: closed with it, and asked what is wrong with them. */
import type { Page } from 'playwright';
import { afterAll, expect, onTestFinished } from 'vitest';
import { windowsChromium } from '../support/browsers/windows-chromium.ts';
import { windowPage } from '../support/electron/window-page.ts';
import type { PageWindow, WindowOptions, WindowPage } from '../support/electron/window-page.ts';

export type { Answer, PageWindow, WindowOptions } from '../support/electron/window-page.ts';

/** At the top of a file. Opens a window, which ends with the test. One page is kept for the next test of the file. */
export function windowsOfTests(): (options: WindowOptions) => Promise<PageWindow> {
  let kept: WindowPage | undefined;
  let open = 0;
  afterAll(() => kept?.page.close());
  return async (options) => {
    const place = kept ?? (await windowPage(await windowsChromium()));
    kept = undefined;
    open += 1;
    onTestFinished(async () => {
      open -= 1;
      place.end();
      // One that another lies before would draw more slowly.
      if (open === 0) kept = place;
      else await place.page.close();
    });
    return place.open(options);
  };
}

export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Waits until the card may be approved. */
export const approvable = (page: Page): Promise<void> => page.locator('button.primary:enabled').waitFor();

/** Waits until keys count on the card. */
export const takesKeys = (page: Page): Promise<void> =>
  page.locator('.question[data-takes-keys=true]').waitFor();

/** Waits until no answer is under way: meanwhile another press counts for nothing. */
export const idle = (page: Page): Promise<void> => page.locator('.actions[aria-busy=false]').waitFor();

/** Waits until the half second of a card is about to run. The policy lets no text be run in the page, so it is asked from here. */
export const timerHeld = (page: Page): Promise<void> =>
  expect
    .poll(() => page.evaluate<boolean>('window.heldTimers.some(({ delay }) => delay === 500)'))
    .toBe(true);

/** Lets held timers run; answers how long each would have taken, in milliseconds. */
export async function releaseTimers(page: Page): Promise<number[]> {
  return page.evaluate<number[]>(`window.heldTimers.splice(0).map(({ run, delay }) => (run(), delay))`);
}

/**
 * Notes from now on where the focus is in the moment when a dialog comes and when one goes, before anything else of the
 * page runs: each as `came` or `went` and the name of the element.
 */
export async function noteDialogFocus(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(`{
    window.dialogFocus = [];
    const note = (verb) => {
      const { activeElement: element } = document;
      window.dialogFocus.push(verb + ' ' + (element.getAttribute('aria-label') ?? element.textContent));
    };
    const hasDialog = (nodes) => [...nodes].some(({ tagName }) => tagName === 'DIALOG');
    new MutationObserver((changes) => {
      if (changes.some(({ addedNodes }) => hasDialog(addedNodes))) note('came');
      if (changes.some(({ removedNodes }) => hasDialog(removedNodes))) note('went');
    }).observe(document.body, { childList: true, subtree: true });
  }`);
  return () => page.evaluate<string[]>('window.dialogFocus');
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

/** Opens whatever a card keeps behind "Details". */
export const openDetails = (page: Page): Promise<void> =>
  page.evaluate(`document.querySelectorAll('details').forEach((details) => (details.open = true))`);
