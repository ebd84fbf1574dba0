/**
 * Every screen walked by the keyboard alone, and what an empty one says. What they show is written down
 * (test/support/homes/example-desk.ts); how each is laid out is measured in every-state.test.ts.
 */
import type { Page } from 'playwright';
import { expect, it } from 'vitest';
import {
  exampleAnswer,
  exampleLater,
  exampleNow,
  exampleQuestions,
  exampleStatus,
} from '../support/homes/example-desk.ts';
import { settled } from '../support/electron/window-page.ts';
import { type PageWindow, windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

const { allow, pair, url, command } = exampleQuestions;

/** A desk at which everything waits, in a vault that is locked. */
const busy = exampleAnswer({
  'request.list': { requests: [allow, pair, url, command] },
  status: {
    ...exampleStatus,
    vault: 'sealed-file',
    vaultOpenedBy: 'passphrase',
    vaultState: { state: 'locked', since: exampleNow - 600, what: 'You locked it.', hint: 'Unlock it.' },
    unreadable: [{ file: '/home/anna/.local/state/keyturn/document.json', why: 'Its MAC is wrong.' }],
    unshielded: ['A crash may leave a file with Keyturn’s memory.'],
    insecureLoopback: true,
  },
});

const show = (answer: typeof busy, hash: string): Promise<PageWindow> => {
  const later = exampleLater();
  return openWindow({ answer, hash, later });
};

/** Its address, and what stands there once it is read. */
const screens: readonly (readonly [hash: string, sign: string])[] = [
  ['overview', '.node'],
  ['servers', '.pick'],
  ['servers/g1', 'article'],
  ['apps', '.pick'],
  ['apps/c1', 'article'],
  ['activity', '.entry'],
  ['settings', '#app-title'],
  ['settings/security', '#vault-title'],
  ['settings/providers', '#registered-title'],
  ['settings/advanced', '#broker-title'],
  ['welcome', '.setup .client'],
  ['card/allow', '.question button.primary:enabled'],
  ['card/pair', '.question button.primary:enabled'],
  ['card/url', '.question button.primary:enabled'],
  ['card/command', '.question button.primary:enabled'],
];

async function goTo(page: Page, hash: string, sign: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  // "Allow" waits until each scope was in view.
  if (sign.includes(':enabled')) {
    await page.locator('.question button.primary').first().waitFor();
    for (const end of await page.locator('.question .scopes .end').all()) await end.scrollIntoViewIfNeeded();
  }
  await page.locator(sign).first().waitFor();
  // A list that comes later would add controls to those that were counted.
  await page.evaluate(settled);
  await page.evaluate(`document.querySelectorAll('details').forEach((details) => (details.open = true))`);
}

it('every screen works by the keyboard alone, with the focus shown', async () => {
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
  for (const [hash, sign] of screens) {
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
