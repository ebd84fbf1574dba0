/**
 * The main window's ways: the picture of who uses what, a list with one thing beside it, the search, the sections of
 * the settings, the keys.
 */
import type { Page } from 'playwright';
import { expect, it } from 'vitest';
import { exampleAnswer, exampleLater } from '../support/homes/example-desk.ts';
import { settled } from '../support/electron/window-page.ts';
import { button, windowsOfTests, type PageWindow, type WindowOptions } from './page-window.ts';

const openWindow = windowsOfTests();

const show = (hash: string, options: Partial<WindowOptions> = {}): Promise<PageWindow> =>
  openWindow({
    answer: exampleAnswer(),
    hash,
    later: exampleLater(),
    ...options,
  });

const hashOf = (page: Page): Promise<string> => page.evaluate<string>('decodeURIComponent(location.hash)');

it('the search finds servers, apps and settings from every view, by the keyboard alone', async () => {
  const { page } = await show('activity');
  await page.locator('.entry').first().waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('QUILL');
  await page.evaluate(settled);
  const found = page.locator('.found');
  expect(await found.allInnerTexts()).toEqual([
    expect.stringMatching(/notes\.example\S*\s+Server/),
    expect.stringMatching(/calendar\.example\S*\s+Server/),
    expect.stringMatching(/^Quill\s+App/),
  ]);
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
  await page.locator('article', { hasText: '/opt/quill/bin/quill' }).waitFor();
  expect(await hashOf(page)).toBe('#programs/c1');

  await page.keyboard.press('Control+f');
  await page.keyboard.type('passphrase');
  await page.keyboard.press('Enter');
  expect(await hashOf(page)).toBe('#settings/security');
  await button(page, 'Search').click();
  await page.keyboard.type('no such thing');
  await page.getByText('Nothing was found.').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});
