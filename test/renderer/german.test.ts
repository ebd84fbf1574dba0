/** The windows in German, in a real Chromium: whole at every width, and nothing of them in English. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { exampleAnswer, exampleNow, exampleQuestions } from '../support/homes/example-desk.ts';
import { windowsOfOneBrowser, overflowing } from './page-window.ts';
import { chooseLanguage } from '../../words/language.ts';
import { window as german } from '../../words/de/window.ts';
import { window as english } from '../../words/en/window.ts';

const openWindow = windowsOfOneBrowser();
const { allow, pair, url, command } = exampleQuestions;

const open = (language: string, hash: string) =>
  openWindow({
    answer: exampleAnswer({ 'interaction.list': { interactions: [allow, pair, url, command] } }),
    hash,
    spoken: chooseLanguage([language], language),
    later: exampleNow - Math.floor(Date.now() / 1000),
    width: 320,
    height: 700,
  });

/** Its address, what stands there once it is read, and what opens it where an address doesn't. */
const screens: readonly (readonly [hash: string, sign: string, opener?: string])[] = [
  ['overview', '.node'],
  ['servers', '.pick'],
  ['servers/g1', 'article'],
  ['servers/g1', 'dialog .timeline', 'button[aria-label^=Details]'],
  ['servers/g1', 'dialog .danger.filled', 'button[aria-label$=widerrufen]'],
  ['servers', 'dialog .search', '.search-button'],
  ['programs', '.pick'],
  ['programs/c1', 'article'],
  ['programs/c1', 'dialog .scopes.choice', 'button[aria-label$=einschränken]'],
  ['activity', '.entry'],
  ['settings', '#app-title'],
  ['settings/security', '#vault-title'],
  ['settings/providers', '#registered-title'],
  ['settings/advanced', '#broker-title'],
  ['welcome', '.steps'],
  ['card/allow', '.question button.primary'],
  ['card/pair', '.question button.primary'],
  ['card/url', '.question button.primary'],
  ['card/command', '.question button.primary'],
];

async function goTo(page: Page, hash: string, sign: string, opener?: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  if (opener !== undefined) await page.locator(opener).first().click();
  await page.locator(sign).first().waitFor();
  await page.evaluate(`document.querySelectorAll('details').forEach((details) => (details.open = true))`);
}

/** Sentences of the English catalogue that German says otherwise: long enough to be no name. */
function sentences(tree: object, other: object): string[] {
  return Object.entries(tree).flatMap(([key, value]: [string, unknown]): string[] => {
    const translated: unknown = Reflect.get(other, key);
    if (typeof value === 'object' && value !== null)
      return sentences(value, typeof translated === 'object' && translated !== null ? translated : {});
    return typeof value === 'string' && value !== translated && value.includes(' ') ? [value] : [];
  });
}

describe('the windows in German', () => {
  it('are whole at 320 px, in German throughout, and say to a screen reader that they are', async () => {
    const foreign = sentences(english, german).filter((text) => !text.includes('{'));
    expect(foreign.length).toBeGreaterThan(300);
    const { page, complaints } = await open('de', 'activity');
    for (const [hash, sign, opener] of screens) {
      await goTo(page, hash, sign, opener);
      const where = `${hash} ${sign}`;
      expect(await page.locator('html').getAttribute('lang')).toBe('de');
      expect(await overflowing(page), where).toEqual([]);
      const read =
        await page.evaluate<string>(`document.body.innerText + [...document.querySelectorAll('[aria-label]')]
        .map((element) => '\\n' + element.getAttribute('aria-label')).join('')`);
      const lines = new Set(read.split('\n').map((line) => line.trim()));
      expect(
        foreign.filter((text) => lines.has(text)),
        where,
      ).toEqual([]);
      await page.keyboard.press('Escape');
    }
    expect(complaints).toEqual([]);
  });

  it('say what a refusal’s reason means, and keep the broker’s own English sentence beside it', async () => {
    const refusal = { reason: 'vault_unreadable', message: 'The sealed file can’t be read.' };
    const { page } = await openWindow({
      answer: async (channel, params) =>
        channel === 'grant.list' ? { ok: false, refusal } : exampleAnswer()(channel, params),
      hash: 'servers',
      spoken: chooseLanguage(['de'], 'de'),
    });
    const refused = page.locator('.refused');
    await refused.getByText('Etwas im Tresor ist nicht lesbar.').waitFor();
    expect(await refused.locator('[lang=en]').innerText()).toBe(refusal.message);
  });

  it('write numbers and times as the country does', async () => {
    const { page } = await open('de-AT', 'activity');
    await page.locator('.entry').first().waitFor();
    expect(await page.locator('time').first().getAttribute('title')).toMatch(/^\w+, \d+\. \w+ \d{4}/);
  });

  it('are English where no catalogue has the language of the system', async () => {
    const { page } = await open('fr-FR', 'servers');
    await page.getByRole('tab', { name: english.tabs.servers }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
  });
});
