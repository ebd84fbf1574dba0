/** The windows are whole at 320 px if each word is as long as in another language: German's are a half longer. */
import type { Page } from 'playwright';
import { expect, it } from 'vitest';
import { exampleAnswer, exampleLater, exampleQuestions } from '../support/homes/example-desk.ts';
import { settled } from '../support/electron/window-page.ts';
import { overflowing, windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();
const { allow, pair, url, command } = exampleQuestions;

/** Its address, what is there once it is read, and what opens it if an address doesn't. */
const screens: readonly (readonly [hash: string, sign: string, opener?: string])[] = [
  ['overview', '.node'],
  ['servers', '.pick'],
  ['servers/g1', 'article'],
  ['servers/g1', 'dialog .timeline', 'button[aria-label^=Details]'],
  ['servers/g1', 'dialog .danger.filled', 'button[aria-label^="Revoke sign-in"]'],
  ['servers', 'dialog .search', '.search-button'],
  ['programs', '.pick'],
  ['programs/c1', 'article'],
  ['activity', '.entry'],
  ['settings', '#app-title'],
  ['settings/security', '#vault-title'],
  ['settings/providers', '#registered-title'],
  ['settings/advanced', '#broker-title'],
  ['welcome', '.step'],
  ['card/allow', '.question button.primary'],
  ['card/pair', '.question button.primary'],
  ['card/url', '.question button.primary'],
  ['card/command', '.question button.primary'],
];

/** Words of five letters and more, at most as long as the longest German ones. */
const lengthen = `{
  const longer = (word) => word + word.slice(0, Math.min(Math.ceil(word.length / 2), Math.max(0, 20 - word.length)));
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/[a-z]{5,}/gi, longer);
}`;

async function goTo(page: Page, hash: string, sign: string, opener?: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  if (opener !== undefined) await page.locator(opener).first().click();
  await page.locator(sign).first().waitFor();
  await page.evaluate(settled);
  await page.evaluate(`document.querySelectorAll('details').forEach((details) => (details.open = true))`);
}

it('every window is whole at 320 px with words that are a half longer', async () => {
  for (const [hash, sign, opener] of screens) {
    const { page, complaints } = await openWindow({
      answer: exampleAnswer({ 'request.list': { interactions: [allow, pair, url, command] } }),
      hash: 'activity',
      later: exampleLater(),
      width: 320,
      height: 700,
    });
    await goTo(page, hash, sign, opener);
    await page.evaluate(lengthen);
    expect(await overflowing(page), `${hash} ${sign}`).toEqual([]);
    expect(complaints).toEqual([]);
  }
});
