/** The question card over a real broker: who can approve, how, when; and what is left of each answer. */
import type { Page } from 'playwright';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type PageBroker, startPageBroker, questionId } from './page-broker.ts';
import {
  approvable,
  button,
  noteDialogFocus,
  type PageWindow,
  releaseTimers,
  takesKeys,
  timerHeld,
  type WindowOptions,
  windowsOfTests,
} from './page-window.ts';

const openWindow = windowsOfTests();

/** The page hears of each change, as in the app. */
async function cardWindow(broker: PageBroker, options: Partial<WindowOptions> = {}): Promise<PageWindow> {
  const opened = await openWindow({ answer: broker.answer, hash: 'card', ...options });
  onTestFinished(broker.owner.onNotification(() => void opened.change().catch(() => undefined)));
  return opened;
}

/** `editor` asks for the notebook, and its card is on the screen. */
async function asked(options: Partial<WindowOptions> = {}) {
  const broker = await startPageBroker();
  const editor = await broker.program('editor');
  const { resource } = broker;
  const token = editor.getToken({ resource, scope: 'notes:read', interaction: 'allow' });
  token.catch(() => undefined);
  await questionId(broker.owner, 'allow');
  const { page } = await cardWindow(broker, options);
  await button(page, 'Don’t allow').waitFor();
  return { broker, page, editor, token };
}

const isOpen = async (broker: PageBroker): Promise<boolean> => {
  // The method's own answer; the broker's tests hold its form.
  const { requests } = (await broker.owner.request('request.list')) as { requests: unknown[] };
  return requests.length > 0;
};

const gone = (page: Page): Promise<void> => page.getByText('Nothing waits for you.').waitFor();

/** `editor` may read notes and asks for this scope; its card is on the screen. */
async function askedForMore(scope: string) {
  const broker = await startPageBroker();
  const { owner, resource } = broker;
  const editor = await broker.program('editor');
  const reading = { app: 'editor', resource, decision: 'allow', scope: 'notes:read' };
  await owner.request('permission.set', reading);
  const token = editor.getToken({ resource, scope, interaction: 'allow' });
  token.catch(() => undefined);
  await questionId(owner, 'allow');
  const { page } = await cardWindow(broker);
  return { page, broker, token };
}

describe('the card of a program that asks for access', () => {
  it('can be approved only half a second after it was seen, and anew after a break', async () => {
    const { page } = await asked({ areTimersHeld: true });
    const allow = button(page, 'Allow');
    await timerHeld(page);
    expect(await allow.isDisabled()).toBe(true);
    expect((await releaseTimers(page)).filter((delay) => delay !== 1000)).toEqual([500]);
    await approvable(page);
    await page.evaluate('window.dispatchEvent(new Event("blur"))');
    await page.locator('button.primary:disabled').waitFor();
    await page.evaluate('window.dispatchEvent(new Event("focus"))');
    await timerHeld(page);
    expect(await allow.isDisabled()).toBe(true);
  });

  it('can not be approved before all that it has to say is on it', async () => {
    const broker = await startPageBroker();
    const editor = await broker.program('editor');
    editor.getToken({ resource: broker.resource, interaction: 'allow' }).catch(() => undefined);
    await questionId(broker.owner, 'allow');
    const list = Promise.withResolvers<void>();
    const answer: PageBroker['answer'] = async (channel, params) => {
      if (channel === 'app.list' || channel === 'settings.get') await list.promise;
      return broker.answer(channel, params);
    };
    const { page } = await cardWindow(broker, { answer, areTimersHeld: true });
    await button(page, 'Don’t allow').waitFor();
    // Calls arrive in their order: what the card said of itself would be there before this.
    await page.evaluate('window.keyturn.call("status", {})');
    expect(broker.shownCards).toEqual([]);
    expect(await releaseTimers(page)).not.toContain(500);
    expect(await button(page, 'Allow').isDisabled()).toBe(true);
    expect(await page.locator('.question').innerText()).not.toContain('can’t tell which');
    list.resolve();
    await timerHeld(page);
    expect(broker.shownCards).toHaveLength(1);
    expect(await button(page, 'Allow').isDisabled()).toBe(true);
    await releaseTimers(page);
    await approvable(page);
    expect(await page.locator('.question').innerText()).toContain('This file runs scripts');
  });

  it('takes no approval from a script', async () => {
    const { page, broker } = await asked();
    await approvable(page);
    await page.evaluate(`{
      const allow = document.querySelector('button.primary');
      allow.click();
      allow.dispatchEvent(new MouseEvent('click', { bubbles: true }));
      allow.dispatchEvent(new KeyboardEvent('keydown', { key: ' ', bubbles: true }));
      allow.dispatchEvent(new KeyboardEvent('keyup', { key: ' ', bubbles: true }));
    }`);
    // Calls arrive in their order: what the clicks asked would be there before this.
    await page.evaluate('window.keyturn.call("status", {})');
    expect(broker.asked).toContainEqual(expect.stringContaining('"status"'));
    expect(broker.asked.filter((call) => /answer|permission/.test(call))).toEqual([]);
    expect(await isOpen(broker)).toBe(true);
  });

  it.each(['Enter', 'Escape'])('is put off, and not denied, by %s from where it begins', async (key) => {
    const { page, broker, token } = await asked();
    await takesKeys(page);
    expect(await button(page, 'Don’t allow').evaluate((refusing) => refusing.matches(':focus'))).toBe(true);
    await page.keyboard.press(key);
    await expect(token).rejects.toMatchObject({ reason: 'consent_required' });
    await gone(page);
    expect(await broker.owner.request('app.list')).toMatchObject({ apps: [{}, { permissions: [] }] });
  });

  it('is not approved by Enter on "Allow", but by the space bar, for an hour', async () => {
    const { page, broker, token } = await asked();
    await approvable(page);
    const allow = button(page, 'Allow');
    await takesKeys(page);
    await allow.press('Enter');
    await page.getByText('To allow, press Space or click.').waitFor();
    expect(await isOpen(broker)).toBe(true);
    await page.getByLabel('For 1 hour').check();
    await allow.press('Space');
    expect((await token).access_token).not.toBe('');
    await gone(page);
    const now = Math.floor(Date.now() / 1000);
    // The method's own answer; the broker's tests hold its form.
    const { apps: clients } = (await broker.owner.request('app.list')) as {
      apps: { permissions: { until?: number; scope?: string }[] }[];
    };
    const [permission] = clients[1]?.permissions ?? [];
    expect(permission?.scope).toBe('notes:read');
    expect(permission?.until).toBeGreaterThan(now + 3000);
    expect(permission?.until).toBeLessThanOrEqual(now + 3600);
  });
});

it('a card allows the ticked permissions only, and nothing if none is ticked', async () => {
  const { page, broker, token } = await askedForMore('notes:read notes:write');
  token.catch(() => undefined);
  await page.getByLabel('notes:write').uncheck();
  await approvable(page);
  await page.getByLabel('notes:read').uncheck();
  await page.getByText('Tick at least one permission').waitFor();
  expect(await button(page, 'Allow').isDisabled()).toBe(true);
  await page.getByLabel('notes:read').check();
  await approvable(page);
  await button(page, 'Allow').click();
  await gone(page);
  await expect(token).rejects.toMatchObject({ reason: 'consent_required' });
  expect(await clientsOf(broker)).toMatchObject({ apps: [{}, { permissions: [{ scope: 'notes:read' }] }] });
});

const clientsOf = async (broker: PageBroker): Promise<unknown> => broker.owner.request('app.list');

it('a pairing card shows the app’s digits, and gives the focus back', async () => {
  const broker = await startPageBroker();
  const code = Promise.withResolvers<string>();
  const pairing = broker.pairing('editor', code.resolve);
  pairing.catch(() => undefined);
  const digits = await code.promise;
  const { page } = await openWindow({ answer: broker.answer, hash: 'servers' });
  const answer = page.getByRole('button', { name: /^Review… editor wants to connect/ });
  const dialogFocus = await noteDialogFocus(page);
  await answer.press('Enter');
  const dialog = page.getByRole('dialog');
  expect(await dialog.innerText()).toContain(digits);
  expect(await dialog.innerText()).toContain(process.execPath);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(await answer.evaluate((opener) => opener.matches(':focus'))).toBe(true);
  expect(await dialogFocus()).toEqual(['came Don’t connect', expect.stringMatching(/^went Review… editor/)]);
  await answer.click();
  const pair = dialog.getByRole('button', { name: 'Connect', exact: true });
  await dialog.locator('button.primary:enabled').waitFor();
  await pair.click();
  expect((await pairing).isOpen).toBe(true);
  await answer.waitFor({ state: 'detached' });
});

it('a sign-in card names server and issuer, takes the right address, and cancels', async () => {
  const broker = await startPageBroker();
  broker.person = false;
  const { resource, owner, world } = broker;
  const signIn = owner.request('signIn.start', { resource });
  signIn.catch(() => undefined);
  await questionId(owner, 'signIn');
  const { page } = await cardWindow(broker);
  const card = page.locator('.question');
  await card.waitFor();
  expect(await card.innerText()).toContain(resource);
  expect(await card.innerText()).toContain(world.authorizationServer.issuer);
  const trouble = page.getByText('The page doesn’t work?');
  await trouble.click();
  expect(await page.getByLabel('It doesn’t open: copy this address').inputValue()).toContain(
    world.authorizationServer.issuer,
  );
  const open = button(page, 'Open the page');
  await approvable(page);
  await page.evaluate('document.querySelector("button.primary").click()');
  await open.click();
  await page.getByText('The page opens in your browser.').waitFor();
  expect(broker.openedPages).toEqual([await questionId(owner, 'signIn')]);
  const paste = page.getByLabel(/^You signed in on another device/);
  await paste.fill('http://127.0.0.1:1/callback?code=foreign-code&state=foreign');
  await page.getByRole('button', { name: 'Use this URL' }).click();
  await page.getByRole('alert').waitFor();
  expect(await paste.inputValue()).toBe('');
  expect(await page.content()).not.toContain('foreign-code');
  await page.getByRole('button', { name: 'Cancel sign-in' }).click();
  await gone(page);
  await expect(signIn).rejects.toMatchObject({ reason: expect.stringMatching(/access_denied|login_/) });
});
