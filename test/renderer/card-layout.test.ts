/** How cards and first screens are drawn in the size that their windows have: nothing stretched, empty, or cut. */
import type { Page } from 'playwright';
import { describe, expect, it } from 'vitest';
import { exampleAnswer, exampleNow, exampleQuestions } from '../support/homes/example-desk.ts';
import { windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

/** As electron/windows/windows.ts opens them. */
const cardSize = { width: 480, height: 640 };
const signIn = {
  id: 'q1',
  resource: 'https://notes.example/mcp',
  issuer: 'https://login.example',
  url: 'https://login.example/authorize?client_id=keyturn',
  createdAt: exampleNow,
  state: 'open',
};

const { asker } = exampleQuestions.command;

/** Controls that are higher than a line and its edges, or lower or narrower than a finger needs (WCAG 2.2, 2.5.8). */
const oddControls = (page: Page): Promise<string[]> =>
  page.evaluate<
    string[]
  >(`[...document.querySelectorAll('button, input:not([type=radio], [type=checkbox]), select, label:has(input)')]
    .map((control) => [control, control.getBoundingClientRect()])
    .filter(([control, { width, height }]) => width > 0 && !control.matches('.field label') &&
      (height < 24 || width < 24 || (control.matches('button, input') && height > 48)))
    .map(([control, { width, height }]) => control.outerHTML.slice(0, 80) + ' ' + width + ' x ' + height)`);

/** Parts of the card that take room and say nothing. */
const emptyParts = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`[...document.querySelectorAll('.parties > *, .notice, .question > *')]
    .filter((part) => part.getBoundingClientRect().height > 0 && part.textContent.trim() === '')
    .map((part) => part.outerHTML)`);

describe('a card in its window', () => {
  it.each([
    ['of a sign-in', { ...signIn, kind: 'signIn' as const }],
    ['of a sign-in with a code', { ...signIn, kind: 'device' as const, code: 'WDJB-MJHT' }],
    [
      'of a command that unlocks the vault',
      {
        id: 'q1',
        kind: 'command' as const,
        command: 'unlock' as const,
        asker,
        createdAt: exampleNow,
        state: 'open',
      },
    ],
    ['of an app that asks for access', exampleQuestions.allow],
    ['of an app that connects', exampleQuestions.pair],
  ])('%s stretches no control and has no empty part', async (_name, question) => {
    const answer = exampleAnswer({ 'request.list': { requests: [question] } });
    const { page } = await openWindow({ answer, hash: 'card', ...cardSize });
    await page.locator('.question button.primary:enabled').waitFor();
    expect(await oddControls(page)).toEqual([]);
    expect(await emptyParts(page)).toEqual([]);
  });
});

it('a card of 60 scopes can be allowed only after the last was in view', async () => {
  const scope = Array.from(
    { length: 60 },
    (_, at) => `notes.part${at}:${at === 59 ? 'delete' : 'read'}`,
  ).join(' ');
  const answer = exampleAnswer({
    'request.list': { requests: [{ ...exampleQuestions.allow, scope }] },
  });
  const { page } = await openWindow({ answer, hash: 'card', ...cardSize });
  await page.getByText('Scroll through all permissions before').waitFor();
  const allow = page.locator('.question button.primary');
  const footerHeight = async () => (await page.locator('.question footer').boundingBox())?.height;
  const unseenHeight = await footerHeight();
  const last = page.locator('.scopes li').last();
  await page.locator('.question[data-takes-keys=true]').waitFor();
  expect(await allow.isDisabled()).toBe(true);
  // From end to end: a jump leaves out what lies between.
  await page.evaluate('scrollTo(0, document.body.scrollHeight)');
  expect(await allow.isDisabled()).toBe(true);
  for (const row of await page.locator('.scopes .end').all()) {
    await row.scrollIntoViewIfNeeded();
    await page.evaluate('new Promise(requestAnimationFrame)');
  }
  expect(await page.locator('.scopes li').first().innerText()).toContain('deletes');
  expect(await last.innerText()).toContain('notes.part58:read');
  await page.locator('.question button.primary:enabled').waitFor();
  expect(await footerHeight()).toBe(unseenHeight);
});
