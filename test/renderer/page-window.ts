/** Windows of a test: closed with it, and asked what is wrong with them. */
import type { Page } from 'playwright';
import { afterAll, expect, onTestFinished } from 'vitest';
import { windowsChromium } from '../support/browsers/windows-chromium.ts';
import { exampleAnswer } from '../support/homes/example-desk.ts';
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

/** Answers as the example desk does, but for `other`, and notes what the user says to cards. */
export function notingAnswers(other: Parameters<typeof exampleAnswer>[0]) {
  const answers: unknown[] = [];
  const example = exampleAnswer(other);
  const answer: WindowOptions['answer'] = async (channel, params) => {
    if (channel === 'request.answer') answers.push(params);
    return example(channel, params);
  };
  return { answers, answer };
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

/** Opens whatever a card keeps behind "Details". */
export const openDetails = (page: Page): Promise<void> =>
  page.evaluate(`document.querySelectorAll('details').forEach((details) => (details.open = true))`);
