/** What a card offers: how long, and to whom. That the broker keeps to it is in question-card.test.ts. */
import type { Page } from 'playwright';
import { describe, expect, it } from 'vitest';
import { accessibilityFaults } from '../support/browsers/accessibility.ts';
import { exampleAnswer, exampleLater, exampleNow, exampleQuestions } from '../support/homes/example-desk.ts';
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

/** The words of each duration, without what explains it. */
const choicesOf = (page: Page): Promise<string[]> =>
  page.locator('.durations label > :nth-child(2)').allInnerTexts();
const chosenChoice = '.durations label:has(:checked) > :nth-child(2)';

it('a card of 60 scopes can be allowed only after the last was in view', async () => {
  const scope = Array.from(
    { length: 60 },
    (_, at) => `notes.part${at}:${at === 59 ? 'delete' : 'read'}`,
  ).join(' ');
  const answer = exampleAnswer({ 'request.list': { requests: [{ ...exampleQuestions.allow, scope }] } });
  const { page } = await openWindow({ answer, hash: 'card', width: 480, height: 640 });
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

describe('how long it is allowed', () => {
  const granted = { resource: 'https://notes.example/mcp', scope: 'a', decision: 'allow' as const };
  const client = { appId: 'c1', name: 'editor', pairedAt: 1, permissions: [] };
  const question = {
    id: 'q1',
    kind: 'allow' as const,
    app: 'editor',
    resource: granted.resource,
    scope: 'a b',
    appProcess: { verified: true, pid: 7, executable: '/usr/bin/editor' },
    createdAt: exampleNow,
    state: 'open',
  };

  interface Card {
    readonly had?: object;
  }

  /** The card over written-down answers, and what it answers. */
  async function cardOf({ had }: Card) {
    const { answers, answer } = notingAnswers({
      'request.list': { requests: [question] },
      'app.list': { apps: [{ ...client, permissions: had ? [{ ...granted, ...had }] : [] }] },
      'settings.get': { settings: { defaultDuration: 'untilRevoked' }, details: [], approver: 'app' },
    });
    const { page } = await openWindow({ hash: 'card', later: exampleLater(), answer });
    await approvable(page);
    const choices = await choicesOf(page);
    const chosen = await page.locator(chosenChoice).innerText();
    return { page, answers, choices, chosen };
  }

  it('is asked of the broker as the choice says', async () => {
    const { page, answers, choices, chosen } = await cardOf({});
    expect(choices).toEqual(['Just this time', 'For 1 hour', 'Until editor quits', 'Until you revoke it']);
    expect(chosen).toBe('Until you revoke it');
    for (const choice of choices) {
      await page.getByLabel(choice).check();
      await button(page, 'Allow').click();
      await idle(page);
    }
    const approved = { id: 'q1', answer: 'approve' };
    await expect
      .poll(() => answers)
      .toEqual([
        { ...approved, duration: { once: true } },
        { ...approved, duration: { seconds: 3600 } },
        { ...approved, duration: { run: true } },
        approved,
      ]);
  });

  it('is proposed as the setting says', async () => {
    let defaultDuration = 'once';
    const { page, change } = await openWindow({
      hash: 'card',
      answer: async (channel, params) =>
        exampleAnswer({
          'request.list': { requests: [question] },
          'settings.get': { settings: { defaultDuration }, details: [], approver: 'app' },
        })(channel, params),
    });
    await approvable(page);
    for (const [setting, label] of [
      ['once', 'Just this time'],
      ['hour', 'For 1 hour'],
      ['run', 'Until editor quits'],
      ['untilRevoked', 'Until you revoke it'],
      ['for ever', 'Just this time'],
    ] as const) {
      defaultDuration = setting;
      await change();
      await expect.poll(() => page.locator(chosenChoice).innerText()).toBe(label);
    }
  });

  it('is at most an hour for the command, and no session for an unknown process', async () => {
    const { page } = await openWindow({
      // One that is gone: the oldest takes its place.
      hash: 'card/gone',
      answer: exampleAnswer({
        'request.list': {
          requests: [
            { ...question, id: 'cli', app: 'cli' },
            { ...question, id: 'nobody', appProcess: undefined },
            { ...question, id: 'other' },
            { ...question, id: 'left', detached: true },
          ],
        },
        'app.list': { apps: [{ ...client, executable: '/opt/editor' }] },
      }),
    });
    const card = page.locator('.question');
    await page.getByText('Every program on this computer can then use').waitFor();
    expect(await page.getByRole('heading', { level: 3 }).innerText()).toBe(
      'Allow the keyturn command to use notes.example?',
    );
    expect(await card.innerText()).toContain(
      'The keyturn command. Every program on this computer can use it.',
    );
    await page.locator('.durations label').first().waitFor();
    expect(await choicesOf(page)).toEqual(['Just this time', 'For 1 hour']);
    await page.evaluate('location.hash = "card/nobody"');
    await page.getByText('can’t tell which program this is').waitFor();
    expect(await choicesOf(page)).toEqual(['For 1 hour', 'Until you revoke it']);
    expect(await card.innerText()).not.toContain('another file');
    await page.evaluate('location.hash = "card/other"');
    await page.getByText('It ran from another file when you connected it: /opt/editor').waitFor();
    // The process may have ended.
    await page.evaluate('location.hash = "card/left"');
    await expect.poll(async () => choicesOf(page)).toEqual(['For 1 hour', 'Until you revoke it']);
  });

  it('is as long as before, and no longer, where it asks for more', async () => {
    // With an end or without: the broker goes by what stands at the answer, not by what the card read.
    for (const had of [{ until: exampleNow + 500 }, {}]) {
      const { page, answers, choices, chosen } = await cardOf({ had });
      expect(choices).toEqual([
        'Just this time',
        'For 1 hour',
        'Until editor quits',
        'As long as its current access',
      ]);
      expect(chosen).toBe('As long as its current access');
      await button(page, 'Allow').click();
      await expect
        .poll(() => answers)
        .toEqual([{ id: 'q1', answer: 'approve', duration: { asBefore: true } }]);
    }
  });

  const had = { ...granted, until: exampleNow + 500 };
  const used = { ...client, lastUsedAt: exampleNow, permissions: [had] };
  const asBefore = 'As long as its current access';
  const otherIssuer = { endpoint: question.resource, issuer: 'https://login.example' };
  it.each<[string, object, string]>([
    ['what was before is gone', { 'app.list': { apps: [client] } }, 'Until you revoke it'],
    ['another file is paired', { 'app.list': { apps: [{ ...used, executable: '/opt/editor' }] } }, asBefore],
    ['another issuer is known', { 'signIn.list': { signIns: [otherIssuer] } }, asBefore],
    ['another scope is asked', { 'request.list': { requests: [{ ...question, scope: 'a b c' }] } }, asBefore],
  ])(
    'is chosen again, on a card that says so and restarts its delay, once %s',
    async (_what, changes, choice) => {
      const lists = {
        'request.list': { requests: [question] },
        'app.list': { apps: [{ ...client, permissions: [had] }] },
        'signIn.list': { signIns: [] as unknown[] },
        'settings.get': { settings: { defaultDuration: 'untilRevoked' }, details: [], approver: 'app' },
      };
      const calls: string[] = [];
      const { page, change } = await openWindow({
        hash: 'card',
        later: exampleLater(),
        areTimersHeld: true,
        answer: async (channel, params) => {
          calls.push(String(channel));
          const value = lists[String(channel) as keyof typeof lists];
          return value === undefined ? exampleAnswer({})(channel, params) : { ok: true, value };
        },
      });
      const chosen = page.locator(chosenChoice);
      const shown = () => calls.filter((channel) => channel === 'card.shown').length;
      await timerHeld(page);
      await releaseTimers(page);
      await approvable(page);
      await page.getByLabel('For 1 hour').check();
      // What the card doesn't say is no change of it.
      lists['app.list'] = { apps: [used] };
      await change();
      await page.evaluate('window.keyturn.call("status", {})');
      expect(await chosen.innerText()).toBe('For 1 hour');
      expect(await page.getByText('has changed since it opened').count()).toBe(0);
      expect(shown()).toBe(1);
      Object.assign(lists, changes);
      await change();
      await page.getByText('has changed since it opened').waitFor();
      expect(await button(page, 'Allow').isDisabled()).toBe(true);
      expect(await chosen.innerText()).toBe(choice);
      await timerHeld(page);
      expect(shown()).toBe(2);
      await releaseTimers(page);
      await approvable(page);
      expect(await accessibilityFaults(page)).toEqual([]);
    },
  );

  it('is chosen and answered by the keyboard alone', async () => {
    const { page, answers } = await cardOf({});
    await takesKeys(page);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('ArrowLeft');
    expect(await page.getByLabel('Until editor quits').isChecked()).toBe(true);
    await page.keyboard.press('Tab');
    expect(await page.getByLabel('Don’t ask again').evaluate((box) => box.matches(':focus-visible'))).toBe(
      true,
    );
    for (const name of ['Don’t allow', 'Allow']) {
      await page.keyboard.press('Tab');
      expect(await button(page, name).evaluate((element) => element.matches(':focus-visible'))).toBe(true);
    }
    await page.keyboard.press('Enter');
    await page.keyboard.press('Space');
    await expect.poll(() => answers).toEqual([{ id: 'q1', answer: 'approve', duration: { run: true } }]);
    await idle(page);
    await page.getByLabel('Just this time').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => answers.at(-1)).toEqual({ id: 'q1', answer: 'dismiss' });
  });
});

it('an app uses the account that was pressed last, and none before that', async () => {
  const { answers, answer } = notingAnswers({
    'request.list': {
      requests: [
        {
          id: 'q1',
          kind: 'choice' as const,
          app: 'editor',
          resource: 'https://notes.example/mcp',
          accounts: ['anna@work.example', 'anna@home.example'],
          createdAt: exampleNow,
          state: 'open',
        },
      ],
    },
  });
  const { page } = await openWindow({ hash: 'card', answer });
  await page.getByText('Choose an account.').waitFor();
  expect(await page.getByRole('radio', { checked: true }).count()).toBe(0);
  expect(await button(page, 'Use this account').isDisabled()).toBe(true);
  await page.getByRole('radio', { name: 'anna@work.example' }).check();
  await page.getByRole('radio', { name: 'anna@home.example' }).check();
  expect(await page.getByRole('radio', { checked: true }).count()).toBe(1);
  await approvable(page);
  expect(await accessibilityFaults(page)).toEqual([]);
  await button(page, 'Use this account').click();
  await expect.poll(() => answers).toEqual([{ id: 'q1', answer: 'approve', account: 'anna@home.example' }]);
});
