/**
 * Every screen with something in it, and empty: open to everybody, whole at every width, walked by the
 * keyboard alone. What they show is written down (test/support/homes/example-desk.ts).
 */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessibilityFaults } from '../support/browsers/accessibility.ts';
import { exampleAnswer, exampleNow, exampleQuestions, exampleStatus } from '../support/homes/example-desk.ts';
import { overflowing, type PageWindow, windowsOfOneBrowser } from './page-window.ts';

const openWindow = windowsOfOneBrowser();

const { allow, pair, url, command } = exampleQuestions;

/** A desk at which everything waits, in a vault that is locked. */
const busy = exampleAnswer({
  'interaction.list': { interactions: [allow, pair, url, command] },
  status: {
    ...exampleStatus,
    vault: 'sealed-file',
    vaultKey: 'passphrase',
    vaultState: { state: 'locked', since: exampleNow - 600, what: 'You locked it.', hint: 'Unlock it.' },
    unreadable: [{ file: '/home/anna/.local/state/keyturn/clients.json', why: 'Its MAC is wrong.' }],
    unshielded: ['Other programs of yours can read its memory.'],
    insecureLoopback: true,
  },
});

const bare = exampleAnswer({
  'grant.list': { grants: [] },
  'client.list': { clients: [] },
  'audit.tail': { rows: [] },
});

const show = (answer: typeof busy, hash: string, scheme: 'light' | 'dark' = 'light'): Promise<PageWindow> => {
  const later = exampleNow - Math.floor(Date.now() / 1000);
  return openWindow({ answer, hash, scheme, later });
};

/** Its address, what stands there once it is read, and what opens it where an address doesn't. */
const screens: readonly (readonly [hash: string, sign: string, opener?: string])[] = [
  ['overview', '.node'],
  ['servers', '.pick'],
  ['servers/g1', 'article'],
  ['servers/g1', 'dialog .timeline', 'button[aria-label^=Details]'],
  ['servers/g1', 'dialog .danger.filled', 'button[aria-label^=Revoke]'],
  ['servers', 'dialog .search', '.search-button'],
  ['servers', 'dialog .question', '.waiting button'],
  ['programs', '.pick'],
  ['programs/c1', 'article'],
  ['programs/c1', 'dialog .scopes.choice', 'button[aria-label^=Reduce]'],
  ['activity', '.entry'],
  ['settings', '#app-title'],
  ['settings/security', '#vault-title'],
  ['settings/providers', '#registered-title'],
  ['settings/providers', 'dialog .danger.filled', 'button[aria-label^="Remove the client"]'],
  ['settings/advanced', '#broker-title'],
  ['settings/advanced', 'dialog .danger.filled', 'button[aria-label^="Remove the proxy"]'],
  ['settings', 'dialog input', '.banner button'],
  ['welcome', '.steps'],
  ['card/allow', '.question button.primary:enabled'],
  ['card/pair', '.question button.primary:enabled'],
  ['card/url', '.question button.primary:enabled'],
  ['card/command', '.question button.primary:enabled'],
];

const widths = [320, 800, 1440];

async function goTo(page: Page, hash: string, sign: string, opener?: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  if (opener !== undefined) await page.locator(opener).first().click();
  // "Allow" waits until each scope was in view.
  if (sign.includes(':enabled')) {
    await page.locator('.question button.primary').first().waitFor();
    for (const end of await page.locator('.question .scopes .end').all()) await end.scrollIntoViewIfNeeded();
  }
  await page.locator(sign).first().waitFor();
  await page.evaluate(`document.querySelectorAll('details').forEach((details) => (details.open = true))`);
}

describe('every screen', () => {
  it.each(['light', 'dark'] as const)(
    'is open to everybody and whole from 320 px on, in the %s',
    async (scheme) => {
      const { page, complaints } = await show(busy, 'activity', scheme);
      for (const [hash, sign, opener] of screens) {
        await goTo(page, hash, sign, opener);
        for (const width of widths) {
          await page.setViewportSize({ width, height: 700 });
          expect(await overflowing(page), `${hash} ${sign} at ${width} px`).toEqual([]);
        }
        // Policy and errors first: the checker itself brings styles along.
        expect(complaints, hash).toEqual([]);
        expect(await accessibilityFaults(page), `${hash} ${sign}`).toEqual([]);
        complaints.length = 0;
        await page.keyboard.press('Escape');
      }
    },
  );

  it('holds letters of twice the size', async () => {
    const { page } = await show(busy, 'activity');
    await page.evaluate(`document.documentElement.style.fontSize = '200%'`);
    await page.setViewportSize({ width: 800, height: 700 });
    for (const [hash, sign, opener] of screens) {
      await goTo(page, hash, sign, opener);
      expect(await overflowing(page), `${hash} ${sign}`).toEqual([]);
      await page.keyboard.press('Escape');
    }
  });

  it('tells the chosen tab by its line where the system forces its own colours', async () => {
    const { page } = await show(busy, 'servers');
    await page.emulateMedia({ forcedColors: 'active' });
    const [line, otherLine, ground] = await page.evaluate<string[]>(`['true', 'false'].map((chosen) =>
      getComputedStyle(document.querySelector('[role=tab][aria-selected=' + chosen + ']')).borderBlockEndColor)
      .concat(getComputedStyle(document.querySelector('.bar')).backgroundColor)`);
    expect(otherLine).toBe(ground);
    expect(line).not.toBe(ground);
  });

  it('says what to do where there is nothing', async () => {
    const { page } = await show(bare, 'servers');
    for (const [hash, title] of [
      ['overview', 'You are not signed in anywhere yet'],
      ['servers', 'You are not signed in anywhere yet'],
      ['programs', 'No app is connected yet'],
      ['activity', 'Nothing has happened yet'],
      ['card', 'Nothing waits for you.'],
    ] as const) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.getByText(title).waitFor();
      expect(await accessibilityFaults(page), hash).toEqual([]);
    }
  });

  it('is walked by the keyboard alone: tabs by arrows, every control by Tab, each with its focus shown', async () => {
    const { page } = await show(busy, 'servers');
    await page.locator('article').first().waitFor();
    await page.getByRole('tab', { name: 'Servers' }).focus();
    for (const name of ['Connected apps', 'Activity', 'Settings', 'Overview', 'Servers']) {
      await page.keyboard.press('ArrowRight');
      expect(await focused(page)).toMatchObject({ name, isShown: true });
    }
    await page.keyboard.press('End');
    expect(await focused(page)).toMatchObject({ name: 'Settings' });
    await page.keyboard.press('ArrowLeft');
    await page.locator('[role="tabpanel"][aria-labelledby="tab-activity"]').waitFor();
    for (const [hash, sign, opener] of screens) {
      // A dialog's own controls are walked inside of it, by the browser.
      if (opener !== undefined) continue;
      await goTo(page, hash, sign);
      const controls = await page
        .locator(':is(button, input:not([type=radio]), input:checked, select, summary, pre)')
        .and(page.locator(':visible:not(:disabled, [tabindex="-1"])'))
        .count();
      await page.evaluate('document.activeElement.blur()');
      const reached = new Set<string>();
      for (let step = 0; step <= controls + 1; step += 1) {
        await page.keyboard.press('Tab');
        const { id, isShown } = await focused(page);
        // Past the last control the browser itself has the focus for one step.
        if (id === '') continue;
        expect(isShown, `${hash}: ${id}`).toBe(true);
        reached.add(id);
      }
      expect(reached.size, hash).toBe(controls);
    }
  });
});

/** The element that has the focus: numbered, its text, and whether a ring shows it. */
async function focused(page: Page): Promise<{ id: string; name: string; isShown: boolean }> {
  return page.evaluate(`(() => {
    const element = document.activeElement;
    if (element === document.body) return { id: '', name: '', isShown: false };
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const id = [...document.querySelectorAll('*')].indexOf(element) + ' ' + element.outerHTML.slice(0, 80);
    return { id, name: element.textContent, isShown: outlineStyle !== 'none' && outlineWidth !== '0px' };
  })()`);
}
