/** The card of a command: its words for what would change, and that it keeps the rules of every card. */
import { describe, expect, it } from 'vitest';
import { exampleAnswer, exampleNow, exampleQuestions } from '../support/homes/example-desk.ts';
import type { Question } from '../support/states/questions.ts';
import {
  approvable,
  button,
  idle,
  notingAnswers,
  releaseTimers,
  takesKeys,
  timerHeld,
  windowsOfTests,
} from './page-window.ts';

const openWindow = windowsOfTests();

describe('the card of a command', () => {
  const { appProcess } = exampleQuestions.command;
  const common = { id: 'q1', kind: 'command' as const, appProcess, createdAt: exampleNow, state: 'open' };

  type Fields = Partial<Question>;
  const changes: readonly (readonly [Fields, readonly string[]])[] = [
    [{ command: 'allow', app: 'editor', scope: 'notes:read' }, ['Read notes', 'until you revoke it']],
    [
      { command: 'allow', app: 'editor', until: exampleNow },
      [`${new Date(exampleNow * 1000).getFullYear()}, `],
    ],
    [
      { command: 'oauthClient', grantType: 'id-jag', authMethod: 'private_key_jwt', replaces: true },
      ['without a sign-in', 'replaces the current client', 'enterprise-managed', 'Private key'],
    ],
    [{ command: 'endDenial', app: 'editor' }, ['The app can then ask you again']],
    [{ command: 'signIn', method: 'paste', newClient: true }, ['registers again', 'takes its final URL']],
    [{ command: 'exception', exception: 'no-resource' }, ['require tokens to be limited', 'Danger']],
  ];

  it('says in words what would change', async () => {
    const place = { resource: 'https://notes.example/mcp', issuer: 'https://login.example' };
    const requests = changes.map(([fields], at) => ({
      ...common,
      ...place,
      server: place.resource,
      ...fields,
      id: `q${at}`,
    }));
    const { page } = await openWindow({ answer: exampleAnswer({ 'request.list': { requests } }) });
    for (const [at, [, parts]] of changes.entries()) {
      await page.evaluate(`location.hash = "card/q${at}"`);
      await page.getByText(`Request ${at + 1} of`).waitFor();
      const text = (await page.locator('.question').innerText()).toLowerCase();
      for (const part of parts) expect(text).toContain(part.toLowerCase());
      expect(await page.locator('.question .good').count()).toBe(0);
    }
  });

  it('keeps the rules of every card', async () => {
    const { answers, answer } = notingAnswers({
      'request.list': { requests: [{ ...common, command: 'unlock' }] },
    });
    const { page } = await openWindow({ hash: 'card', areTimersHeld: true, answer });
    const approve = button(page, 'Allow');
    await timerHeld(page);
    expect(await approve.isDisabled()).toBe(true);
    // Of somebody who typed elsewhere when the card came up, and who still holds the key a second later.
    await page.keyboard.down('Enter');
    await page.keyboard.press('Escape');
    await approve.press('Space');
    await releaseTimers(page);
    await takesKeys(page);
    await button(page, 'Don’t allow').focus();
    await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    await approvable(page);
    await page.evaluate('document.querySelector("button.primary").click()');
    await approve.press('Space');
    await idle(page);
    await button(page, 'Don’t allow').press('Enter');
    await page.getByText('The command was not allowed.').waitFor();
    await expect
      .poll(() => answers)
      .toEqual(['approve', 'dismiss'].map((one) => ({ id: 'q1', answer: one })));
  });
});
