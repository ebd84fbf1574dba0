/** The card for what one run of an app asks in one breath: what it lists, what an answer says of each, and when it starts anew. */
import type { Page } from 'playwright';
import { describe, expect, it } from 'vitest';
import { accessibilityFaults } from '../support/browsers/accessibility.ts';
import { exampleAnswer, exampleLater, exampleNow } from '../support/homes/example-desk.ts';
import {
  approvable,
  button,
  idle,
  releaseTimers,
  takesKeys,
  timerHeld,
  windowsOfTests,
} from './page-window.ts';

const openWindow = windowsOfTests();

const appProcess = { verified: true, pid: 7, executable: '/usr/bin/editor' };

/** A question of the run about a server of its own, on the card `q1`. */
const asked = (id: string, fields: object = {}) => ({
  id,
  card: 'q1',
  kind: 'allow' as const,
  app: 'editor',
  appProcess,
  resource: `https://${id}.example/mcp`,
  scope: 'notes:read',
  createdAt: exampleNow,
  state: 'open',
  ...fields,
});

const three = [asked('q1', { scope: 'notes:read notes:delete' }), asked('q2'), asked('q3', { scope: '' })];

interface Options {
  readonly questions?: readonly object[];
  readonly permissions?: readonly object[];
  readonly areTimersHeld?: boolean;
  readonly width?: number;
  readonly height?: number;
}

/** The card window over these questions; `ask` changes them, and `calls` are those that answer or undo. */
async function card({ questions = three, permissions = [], ...options }: Options = {}) {
  const lists = {
    'card.answer': {},
    'request.list': { requests: [...questions] },
    'app.list': { apps: [{ appId: 'c1', name: 'editor', pairedAt: 1, permissions }] },
    'signIn.list': { signIns: [] },
    'settings.get': { settings: { defaultDuration: 'untilRevoked' }, details: [], approver: 'app' },
  };
  const calls: unknown[] = [];
  const shown: unknown[] = [];
  const { page, change } = await openWindow({
    hash: 'card',
    later: exampleLater(),
    height: 2000,
    ...options,
    answer: async (channel, params) => {
      if (channel === 'card.shown') shown.push(params);
      if (/answer|permission\.revoke/.test(String(channel))) calls.push([channel, params]);
      const value = lists[String(channel) as keyof typeof lists];
      return value === undefined ? exampleAnswer({})(channel, params) : { ok: true, value };
    },
  });
  await page.locator('.question').waitFor();
  const ask = async (...now: readonly object[]): Promise<void> => {
    lists['request.list'] = { requests: [...now] };
    await change();
  };
  return { page, ask, calls, shown };
}

const serverTick = (page: Page, id: string) =>
  page.getByRole('checkbox', { name: `https://${id}.example/mcp` });
const approves = (id: string) => ({ id, answer: 'approve' });

describe('the card of several questions of one run', () => {
  it('lists every server with its scopes, and takes one press', async () => {
    const { page, calls } = await card();
    await page.getByRole('heading', { name: 'Allow editor to use 3 servers?' }).waitFor();
    expect(await page.locator('.one-of-several .address').allInnerTexts()).toEqual(
      three.map(({ resource }) => resource),
    );
    expect(await page.locator('.scopes code').allInnerTexts()).toEqual([
      'notes:delete',
      'notes:read',
      'notes:read',
    ]);
    expect(await page.getByText('/usr/bin/editor').count()).toBe(1);
    expect(await page.getByText('Request 1 of').count()).toBe(0);
    expect(await accessibilityFaults(page)).toEqual([]);
    await approvable(page);
    await page.getByLabel('For 1 hour').check();
    await button(page, 'Allow').click();
    const duration = { seconds: 3600 };
    await expect
      .poll(() => calls)
      .toEqual([
        ['card.answer', { answers: ['q1', 'q2', 'q3'].map((id) => ({ ...approves(id), duration })) }],
      ]);
  });

  it('puts off a server without its tick, and gives what is ticked elsewhere', async () => {
    const { page, calls } = await card();
    await approvable(page);
    await serverTick(page, 'q1').uncheck();
    expect(await page.getByLabel('notes:delete').isDisabled()).toBe(true);
    await serverTick(page, 'q1').check();
    await page.getByLabel('notes:delete').uncheck();
    await serverTick(page, 'q2').uncheck();
    await button(page, 'Allow').click();
    const answers = [
      { ...approves('q1'), scope: 'notes:read' },
      approves('q3'),
      { id: 'q2', answer: 'dismiss' },
    ];
    await expect.poll(() => calls).toEqual([['card.answer', { answers }]]);
  });

  it('can’t be allowed without a server, or with a server without a scope', async () => {
    const { page } = await card();
    await approvable(page);
    for (const id of ['q1', 'q2', 'q3']) await serverTick(page, id).uncheck();
    await page.getByText('Tick at least one server').waitFor();
    expect(await button(page, 'Allow').isDisabled()).toBe(true);
    await serverTick(page, 'q2').check();
    await page.locator('.one-of-several').nth(1).getByLabel('notes:read').uncheck();
    await page.getByText('Tick at least one permission').waitFor();
    expect(await button(page, 'Allow').isDisabled()).toBe(true);
  });

  it('is put off by Enter as a whole, and denied as a whole, which one press undoes', async () => {
    const { page, calls } = await card();
    await serverTick(page, 'q1').uncheck();
    await takesKeys(page);
    await page.keyboard.press('Enter');
    const each = (answer: string) => ['q1', 'q2', 'q3'].map((id) => ({ id, answer }));
    await expect.poll(() => calls).toEqual([['card.answer', { answers: each('dismiss') }]]);
    await idle(page);
    await page.getByLabel('Don’t ask again').check();
    expect(await button(page, 'Allow').isDisabled()).toBe(true);
    await button(page, 'Don’t allow').click();
    await expect.poll(() => calls.at(-1)).toEqual(['card.answer', { answers: each('deny') }]);
    calls.length = 0;
    await button(page, 'Undo').click();
    await page.getByText('editor can ask for these servers again.').waitFor();
    expect(calls).toEqual(three.map(({ resource }) => ['permission.revoke', { app: 'c1', resource }]));
  });

  it('shows no question of another card, and counts cards', async () => {
    const { page, ask } = await card({ questions: [...three, asked('q4', { card: 'q4' })] });
    await page.getByText('Request 1 of 2').waitFor();
    expect(await page.getByText('q4.example').count()).toBe(0);
    await ask(asked('q4', { card: 'q4' }));
    await page.getByRole('heading', { name: 'Allow editor to use q4.example?' }).waitFor();
    // It is no change of the card before.
    expect(await page.getByText('has changed since it opened').count()).toBe(0);
  });

  it('can be allowed only after each server was in view, one without scopes too', async () => {
    const { page } = await card({
      questions: [...three, asked('q4', { scope: '' })],
      width: 320,
      height: 400,
    });
    await page.getByText('Scroll through all permissions before').waitFor();
    await takesKeys(page);
    for (const end of (await page.locator('.question .end').all()).slice(0, -1)) {
      await end.scrollIntoViewIfNeeded();
      await page.evaluate('new Promise(requestAnimationFrame)');
    }
    expect(await button(page, 'Allow').isDisabled()).toBe(true);
    await page.locator('.question .end').last().scrollIntoViewIfNeeded();
    await approvable(page);
  });
});

describe('a card that grows', () => {
  it('restarts with every question that joins', async () => {
    const { page, ask, calls, shown } = await card({ questions: three.slice(0, 2), areTimersHeld: true });
    await timerHeld(page);
    await releaseTimers(page);
    await approvable(page);
    await takesKeys(page);
    await ask(...three);
    await page.getByRole('heading', { name: 'Allow editor to use 3 servers?' }).waitFor();
    await page.getByText('has changed since it opened').waitFor();
    expect(await button(page, 'Allow').isDisabled()).toBe(true);
    expect(await page.locator('.question').getAttribute('data-takes-keys')).toBe('false');
    await button(page, 'Allow').click({ force: true });
    await timerHeld(page);
    expect(shown).toEqual([{ ids: ['q1', 'q2'] }, { ids: ['q1', 'q2', 'q3'] }]);
    expect(calls).toEqual([]);
    await releaseTimers(page);
    await approvable(page);
  });

  it('keeps what was ticked of the others, also when one of them is answered elsewhere', async () => {
    const { page, ask, calls } = await card({ questions: three.slice(0, 2) });
    await approvable(page);
    await page.getByLabel('notes:delete').uncheck();
    await ask(...three);
    await page.getByRole('heading', { name: 'Allow editor to use 3 servers?' }).waitFor();
    await serverTick(page, 'q3').uncheck();
    await ask(three[0] ?? {}, three[2] ?? {});
    await page.getByRole('heading', { name: 'Allow editor to use 2 servers?' }).waitFor();
    await page.getByText('has changed since it opened').waitFor();
    await approvable(page);
    await button(page, 'Allow').click();
    const answers = [
      { ...approves('q1'), scope: 'notes:read' },
      { id: 'q3', answer: 'dismiss' },
    ];
    await expect.poll(() => calls).toEqual([['card.answer', { answers }]]);
  });

  it('continues with one server after its first question was answered elsewhere', async () => {
    const { page, ask, calls } = await card({ questions: three.slice(0, 2) });
    await approvable(page);
    await ask(three[1] ?? {});
    await page.getByRole('heading', { name: 'Allow editor to use q2.example?' }).waitFor();
    expect(await button(page, 'Allow').isDisabled()).toBe(true);
    await approvable(page);
    await button(page, 'Allow').click();
    await expect.poll(() => calls).toEqual([['request.answer', approves('q2')]]);
  });
});
