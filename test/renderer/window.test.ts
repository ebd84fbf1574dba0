/** The main window: the overview, a list with one thing beside it, search, sections of the settings, keys. */
import type { Page } from 'playwright';
import { expect, it } from 'vitest';
import { exampleAnswer, exampleLater, exampleSignIns } from '../support/homes/example-desk.ts';
import { settled } from '../support/electron/window-page.ts';
import { button, windowsOfTests, type PageWindow, type WindowOptions } from './page-window.ts';

const openWindow = windowsOfTests();

const show = (hash: string, options: Partial<WindowOptions> = {}): Promise<PageWindow> =>
  openWindow({ answer: exampleAnswer(), hash, later: exampleLater(), ...options });

const hashOf = (page: Page): Promise<string> => page.evaluate<string>('decodeURIComponent(location.hash)');

/** What each drawn line joins, by the heights at which it begins and ends. */
const joinedNames = (page: Page): Promise<string[]> =>
  page.locator('.link').evaluateAll((lines) =>
    lines.map((line) => {
      const heights = (line.getAttribute('d') ?? '').match(/[\d.]+/g)?.map(Number) ?? [];
      const top = line.parentElement?.getBoundingClientRect().top ?? 0;
      const ends = [heights[1], heights.at(-1)].map((height = -1, at) => {
        const nodes = [...line.ownerDocument.querySelectorAll(at === 0 ? '.apps > li' : '.servers > li')];
        const end = nodes.find((node) => {
          const box = node.getBoundingClientRect();
          return box.top < top + height && top + height < box.bottom;
        });
        return end?.querySelector('strong')?.textContent;
      });
      return ends.join(': ');
    }),
  );

it('the overview shows each permission as a line, with its last use in words', async () => {
  const { page } = await show('overview');
  const apps = page.locator('.apps .node');
  await apps.first().waitFor();
  await page.evaluate(settled);
  expect(await apps.allInnerTexts()).toEqual([
    expect.stringMatching(/^Quill\s+notes\.example, calendar\.example · 4 minutes ago/),
    expect.stringMatching(/^Helm agent\s+tickets\.example · 11 minutes ago/),
    expect.stringMatching(/^notes-backup\s+notes\.example · 4 months ago/),
  ]);
  expect(await page.locator('.servers .node').allInnerTexts()).toEqual([
    expect.stringMatching(/^calendar\.example\s+Sign-in required\s+Quill · 15 hours ago/),
    expect.stringMatching(/^tickets\.example\s+Can’t renew\s+Helm agent · 11 minutes ago/),
    expect.stringMatching(/^notes\.example\s+Quill, notes-backup · 4 minutes ago/),
  ]);
  // The denial of "Helm agent" for notes.example is no line.
  expect((await joinedNames(page)).toSorted()).toEqual([
    'Helm agent: tickets.example',
    'Quill: calendar.example',
    'Quill: notes.example',
    'notes-backup: notes.example',
  ]);
  const notes = page.locator('.servers .node', { hasText: 'notes.example' });
  await notes.hover();
  expect(await page.locator('.link.hot').count()).toBe(2);
  await notes.click();
  expect(await hashOf(page)).toBe('#servers/g1');
  await page.getByRole('tab', { name: 'Overview' }).click();
  await apps.nth(1).press('Enter');
  await page.locator('article', { hasText: '/home/anna/.local/bin/helm-agent' }).waitFor();
  // What is shown of its use says how much that is.
  await page.getByText(/In the last 24 hours: \d+ tokens and API keys issued\./).waitFor();
});

it('a list read again in another order still shows the same server beside it', async () => {
  let signIns = [...exampleSignIns];
  const { page, change } = await show('servers', {
    answer: async (channel, params) => exampleAnswer({ 'signIn.list': { signIns } })(channel, params),
  });
  const shown = page.locator('article h3');
  await shown.getByText('calendar.example').waitFor();
  // Another one needs the user now, and stands above it.
  signIns = exampleSignIns.map((signIn) =>
    signIn.id === 'g4' ? { ...signIn, state: 'signInRequired' } : signIn,
  );
  await change();
  await page.locator('li:first-child > .pick', { hasText: 'archive.example' }).waitFor();
  expect(await shown.innerText()).toContain('calendar.example');
  await page.getByLabel('Filter servers').fill('tickets');
  await shown.getByText('tickets.example').waitFor();
});

it('the search finds servers, apps and settings by the keyboard alone', async () => {
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
  expect(await hashOf(page)).toBe('#apps/c1');

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
