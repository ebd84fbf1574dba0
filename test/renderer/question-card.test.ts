/** The question card over a real broker: who can approve, how, when; and what is left of each answer. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../src/client/connection.ts';
import { type BrowserProfile, openBrowserProfile } from '../support/browser.ts';
import { exampleAnswer, exampleNow } from '../support/example-desk.ts';
import { type Desk, openDesk, questionId } from './desk.ts';
import { openWindow, type PageWindow, releaseTimers, type WindowOptions } from './page-window.ts';

let profile: BrowserProfile;

beforeAll(async () => {
  profile = await openBrowserProfile({ ca: '', origins: [] });
});

afterAll(() => profile.close());

const cardWindow = (desk: Desk, options: Partial<WindowOptions> = {}): Promise<PageWindow> =>
  openWindow(profile.page.context(), { answer: desk.answer, hash: 'card', ...options });

interface Asked {
  readonly desk: Desk;
  readonly page: Page;
  readonly editor: Connection;
  /** The program's request; it waits for the card. */
  readonly token: Promise<{ readonly access_token: string }>;
}

/** `editor` asks for the notebook, and its card is on the screen. */
async function asked(options: Partial<WindowOptions> = {}): Promise<Asked> {
  const desk = await openDesk();
  const editor = await desk.program('editor');
  const { resource } = desk;
  const token = editor.getToken({ resource, scope: 'notes:read', interaction: 'allow' });
  token.catch(() => undefined);
  await questionId(desk.owner, 'allow');
  const { page } = await cardWindow(desk, options);
  await button(page, 'Deny').waitFor();
  return { desk, page, editor, token };
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Waits until the card may be approved. */
async function armed(page: Page): Promise<void> {
  await page.locator('button.primary:enabled').waitFor();
}

/** Waits until the half second is about to run. The policy lets no text be run in the page, so it is asked from here. */
const timerHeld = (page: Page): Promise<void> =>
  expect.poll(() => page.evaluate<number>('window.heldTimers.length')).toBeGreaterThan(0);

const isOpen = async (desk: Desk): Promise<boolean> => {
  // The method's own answer; the broker's tests hold its form.
  const { interactions } = (await desk.owner.request('interaction.list')) as { interactions: unknown[] };
  return interactions.length > 0;
};

const gone = (page: Page): Promise<void> => page.getByText('Nothing waits for you.').waitFor();

describe('the card of a program that asks for access', () => {
  it('says who asks for what, and how far that is known', async () => {
    const { page, desk } = await asked();
    await armed(page);
    const text = await page.locator('.question').innerText();
    for (const part of ['editor', process.execPath, 'attested by the system', desk.resource, 'notes:read']) {
      expect(text).toContain(part);
    }
    expect(text).toContain('Named when you sign in there');
    expect(desk.shownCards).toEqual([await questionId(desk.owner, 'allow')]);
  });

  it('can be approved only half a second after it was seen, and anew after a break', async () => {
    const { page } = await asked({ areTimersHeld: true });
    const allow = button(page, 'Allow');
    await timerHeld(page);
    expect(await allow.isDisabled()).toBe(true);
    expect(await releaseTimers(page)).toEqual([500]);
    await armed(page);
    await page.evaluate('window.dispatchEvent(new Event("blur"))');
    await page.locator('button.primary:disabled').waitFor();
    await page.evaluate('window.dispatchEvent(new Event("focus"))');
    await timerHeld(page);
    expect(await allow.isDisabled()).toBe(true);
  });

  it('never arms while its window has no focus', async () => {
    const { page, desk } = await asked({ areTimersHeld: true });
    await timerHeld(page);
    await page.evaluate('document.hasFocus = () => false');
    await releaseTimers(page);
    await page.evaluate('window.dispatchEvent(new Event("focus"))');
    await page.evaluate('new Promise(requestAnimationFrame)');
    expect(await button(page, 'Allow').isDisabled()).toBe(true);
    expect(desk.shownCards).toHaveLength(1);
  });

  it('can not be approved before all that it has to say is on it', async () => {
    const desk = await openDesk();
    const editor = await desk.program('editor');
    editor.getToken({ resource: desk.resource, interaction: 'allow' }).catch(() => undefined);
    await questionId(desk.owner, 'allow');
    const list = Promise.withResolvers<void>();
    const answer: Desk['answer'] = async (channel, params) => {
      if (channel === 'client.list' || channel === 'settings.get') await list.promise;
      return desk.answer(channel, params);
    };
    const { page } = await cardWindow(desk, { answer, areTimersHeld: true });
    await timerHeld(page);
    await releaseTimers(page);
    await page.evaluate('new Promise(requestAnimationFrame)');
    expect(await button(page, 'Allow').isDisabled()).toBe(true);
    expect(await page.locator('.question').innerText()).not.toContain('unverified');
    list.resolve();
    await armed(page);
    expect(await page.locator('.question').innerText()).toContain('attested by the system');
  });

  it('takes no approval from a script', async () => {
    const { page, desk } = await asked();
    await armed(page);
    await page.evaluate(`{
      const allow = document.querySelector('button.primary');
      allow.click();
      allow.dispatchEvent(new MouseEvent('click', { bubbles: true }));
      allow.dispatchEvent(new KeyboardEvent('keydown', { key: ' ', bubbles: true }));
      allow.dispatchEvent(new KeyboardEvent('keyup', { key: ' ', bubbles: true }));
    }`);
    // Calls arrive in their order: what the clicks asked would be there before this.
    await page.evaluate('window.keyturn.call("status", {})');
    expect(desk.asked.at(-1)).toContain('"status"');
    expect(desk.asked.filter((call) => /answer|permission/.test(call))).toEqual([]);
    expect(await isOpen(desk)).toBe(true);
  });

  it('is denied by Enter, which has the focus from the start, and the denial is remembered', async () => {
    const { page, desk, editor, token } = await asked();
    await armed(page);
    expect(await button(page, 'Deny').evaluate((deny) => deny.matches(':focus'))).toBe(true);
    await page.keyboard.press('Escape');
    expect(await isOpen(desk)).toBe(true);
    await page.keyboard.press('Enter');
    await expect(token).rejects.toMatchObject({ reason: 'consent_denied' });
    await gone(page);
    const again = editor.getToken({ resource: desk.resource, interaction: 'allow' });
    await expect(again).rejects.toMatchObject({ reason: 'consent_denied' });
  });

  it('is not approved by Enter on "Allow", nor by Escape, but by the space bar, for an hour', async () => {
    const { page, desk, token } = await asked();
    await armed(page);
    const allow = button(page, 'Allow');
    await allow.press('Enter');
    await allow.press('Escape');
    expect(await isOpen(desk)).toBe(true);
    await page.getByLabel('1 hour').check();
    await allow.press('Space');
    expect((await token).access_token).not.toBe('');
    await gone(page);
    const now = Math.floor(Date.now() / 1000);
    // The method's own answer; the broker's tests hold its form.
    const { clients } = (await desk.owner.request('client.list')) as {
      clients: { permissions: { until?: number; scope?: string }[] }[];
    };
    const [permission] = clients[1]?.permissions ?? [];
    expect(permission?.scope).toBe('notes:read');
    expect(permission?.until).toBeGreaterThan(now + 3000);
    expect(permission?.until).toBeLessThanOrEqual(now + 3600);
  });

  it('is approved by a click until the person ends it, and by that only once', async () => {
    const { page, desk, token } = await asked();
    await armed(page);
    expect(await page.getByLabel('Until revoked').isChecked()).toBe(true);
    await button(page, 'Allow').click();
    const { access_token: secret } = await token;
    await gone(page);
    expect(await desk.owner.request('client.list')).toMatchObject({
      clients: [{}, { permissions: [{ decision: 'allow', scope: 'notes:read' }] }],
    });
    const seen = [...desk.asked, ...desk.answered, await page.content()].join('\n');
    for (const issued of await desk.secrets([secret])) expect(seen).not.toContain(issued);
  });

  it('is put off by "Not now", which nobody remembers', async () => {
    const { page, desk, token } = await asked();
    await button(page, 'Not now').click();
    await expect(token).rejects.toMatchObject({ reason: 'consent_required' });
    await gone(page);
    expect(await desk.owner.request('client.list')).toMatchObject({ clients: [{}, { permissions: [] }] });
  });

  it('asks for more scopes without touching how long the earlier ones last', async () => {
    const desk = await openDesk();
    const { owner, resource } = desk;
    const editor = await desk.program('editor');
    await owner.request('permission.set', {
      client: 'editor',
      resource,
      decision: 'allow',
      scope: 'notes:read',
    });
    const scope = 'notes:read notes:write';
    const token = editor.getToken({ resource, scope, interaction: 'allow' });
    token.catch(() => undefined);
    await questionId(owner, 'allow');
    const { page } = await cardWindow(desk);
    await page.getByText('It may reach this server already').waitFor();
    expect(await page.locator('.scopes li').allInnerTexts()).toEqual([
      'Read notes notes:read',
      expect.stringMatching(/notes:write\s*new$/),
    ]);
    expect(await page.getByLabel('As before').isChecked()).toBe(true);
    expect(await page.getByLabel('Until revoked').count()).toBe(0);
    await armed(page);
    await button(page, 'Allow').click();
    await token;
    expect(await owner.request('client.list')).toMatchObject({
      clients: [{}, { permissions: [{ scope, decision: 'allow' }] }],
    });
  });
});

const clientsOf = async (desk: Desk): Promise<unknown> => desk.owner.request('client.list');

describe('how long it is allowed', () => {
  it('for this session: nothing is left of it once the program is gone', async () => {
    const { page, desk, editor, token } = await asked();
    await armed(page);
    await page.getByLabel('This session').check();
    expect(await page.getByText(/^Until the program ends/).innerText()).toContain(String(process.pid));
    await button(page, 'Allow').click();
    expect((await token).access_token).not.toBe('');
    expect(await clientsOf(desk)).toMatchObject({
      clients: [{}, { permissions: [{ decision: 'allow', run: { pid: process.pid } }] }],
    });
    editor.close();
    await expect.poll(() => clientsOf(desk)).toMatchObject({ clients: [{}, { permissions: [] }] });
  });

  const granted = { resource: 'https://notes.example/mcp', scope: 'a', decision: 'allow' as const };
  const client = { clientId: 'c1', name: 'editor', pairedAt: 1, permissions: [] };
  const question = {
    id: 'q1',
    kind: 'allow' as const,
    client: 'editor',
    resource: granted.resource,
    scope: 'a b',
    asker: { verified: true, pid: 7, executable: '/usr/bin/editor' },
    createdAt: exampleNow,
    state: 'open',
  };

  interface Card {
    readonly question?: object;
    readonly had?: object;
    readonly defaultLease?: string;
  }

  /** The card over written-down answers, and what it answers. */
  async function cardOf({ question: changed = {}, had, defaultLease }: Card) {
    const answers: unknown[] = [];
    const example = exampleAnswer({
      'interaction.list': { interactions: [{ ...question, ...changed }] },
      'client.list': {
        clients: [
          { ...client, permissions: had ? [{ ...granted, ...had }] : [] },
          { ...client, clientId: 'cli', name: 'cli' },
        ],
      },
      'settings.get': { settings: defaultLease === undefined ? {} : { defaultLease }, details: [] },
    });
    const { page } = await openWindow(profile.page.context(), {
      hash: 'card',
      later: exampleNow - Math.floor(Date.now() / 1000),
      answer: async (channel, params) => {
        if (channel === 'interaction.answer') answers.push(params);
        return example(channel, params);
      },
    });
    await armed(page);
    const choices = await page.locator('.segments label').allInnerTexts();
    const chosen = await page.locator('.segments label:has(:checked)').innerText();
    return { page, answers, choices, chosen };
  }

  it('is asked of the broker as the choice says', async () => {
    const { page, answers, choices, chosen } = await cardOf({});
    expect(choices).toEqual(['Once', '1 hour', 'This session', 'Until revoked']);
    expect(chosen).toBe('Until revoked');
    for (const choice of choices) {
      await page.getByLabel(choice).check();
      await button(page, 'Allow').click();
    }
    const yes = { id: 'q1', answer: 'yes' };
    await expect
      .poll(() => answers)
      .toEqual([
        { ...yes, lease: { once: true } },
        { ...yes, lease: { seconds: 3600 } },
        { ...yes, lease: { run: true } },
        yes,
      ]);
  });

  it.each([
    ['once', 'Once'],
    ['hour', '1 hour'],
    ['run', 'This session'],
    ['untilRevoked', 'Until revoked'],
    ['for ever', 'Until revoked'],
  ])('is proposed as the setting says: %s', async (defaultLease, label) => {
    expect((await cardOf({ defaultLease })).chosen).toBe(label);
  });

  it('is never beyond an hour for the command, which has no session', async () => {
    const { page, choices, chosen } = await cardOf({ question: { client: 'cli' } });
    expect(choices).toEqual(['Once', '1 hour']);
    expect(chosen).toBe('1 hour');
    expect(await page.locator('.question').innerText()).toContain('Every program that you run can then get');
  });

  it('is no session where nothing tells who asks', async () => {
    const { page, choices } = await cardOf({ question: { asker: undefined } });
    expect(choices).toEqual(['Once', '1 hour', 'Until revoked']);
    expect(await page.locator('.question').innerText()).toContain('unverified');
  });

  it('is as long as before, and no longer, where it asks for more', async () => {
    const { page, answers, choices, chosen } = await cardOf({ had: { until: exampleNow + 500 } });
    expect(choices).toEqual(['Once', '1 hour', 'This session', 'As before']);
    expect(chosen).toBe('As before');
    await button(page, 'Allow').click();
    await expect.poll(() => answers.length).toBe(1);
    const [{ lease }] = answers as [{ lease: { seconds: number } }];
    expect(lease.seconds).toBeGreaterThan(400);
    expect(lease.seconds).toBeLessThanOrEqual(500);
  });

  it('is chosen and answered by the keyboard alone', async () => {
    const { page, answers } = await cardOf({});
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('ArrowLeft');
    expect(await page.getByLabel('This session').isChecked()).toBe(true);
    for (const name of ['Deny', 'Not now', 'Allow']) {
      await page.keyboard.press('Tab');
      expect(await button(page, name).evaluate((element) => element.matches(':focus-visible'))).toBe(true);
    }
    await page.keyboard.press('Enter');
    await page.keyboard.press('Space');
    await expect.poll(() => answers).toEqual([{ id: 'q1', answer: 'yes', lease: { run: true } }]);
    await page.getByLabel('Once').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => answers.at(-1)).toEqual({ id: 'q1', answer: 'no' });
  });

  it('says so where the file is another than when the program was paired', async () => {
    const { page } = await cardOf({});
    expect(await page.locator('.question').innerText()).not.toContain('Another file');
    const other = { ...client, executable: '/opt/editor' };
    const { page: changed } = await openWindow(profile.page.context(), {
      hash: 'card',
      answer: exampleAnswer({
        'interaction.list': { interactions: [question] },
        'client.list': { clients: [other] },
      }),
    });
    await changed.getByText('Another file than when it was paired: /opt/editor').waitFor();
  });
});

describe('the card of a command', () => {
  const asker = { verified: true, pid: 7, executable: '/usr/bin/node', parents: ['zsh'] };
  const common = { id: 'q1', kind: 'command' as const, asker, createdAt: exampleNow, state: 'open' };

  it.each([
    [
      { command: 'allow', client: 'editor', resource: 'https://notes.example/mcp', scope: 'notes:read' },
      ['May a command allow', 'editor', 'https://notes.example/mcp', 'Read notes', 'until you end it'],
    ],
    [
      { command: 'register', issuer: 'https://login.example', registration: 'by-hand' },
      ['May a command enter a client', 'https://login.example', 'by-hand'],
    ],
    [
      { command: 'override', server: 'https://notes.example/mcp', override: 'no-resource' },
      ['May a command waive a rule', 'https://notes.example/mcp', 'Ask without the resource', 'Danger'],
    ],
    [
      { command: 'settings', setting: { name: 'browser', value: 'firefox' } },
      ['May a command change a setting', 'browser', 'firefox'],
    ],
    [{ command: 'settings', setting: { name: 'browser' } }, ['unset: the default counts again']],
    [{ command: 'unlock' }, ['May a command unlock the vault']],
    [{ command: 'passphrase' }, ['May a command change the passphrase']],
    [{ command: 'export' }, ['May a command export']],
  ] as const)('says what would change, and who asks: %o', async (fields, parts) => {
    const { page } = await openWindow(profile.page.context(), {
      hash: 'card',
      answer: exampleAnswer({ 'interaction.list': { interactions: [{ ...common, ...fields }] } }),
    });
    await button(page, 'Deny').waitFor();
    const text = (await page.locator('.question').innerText()).toLowerCase();
    for (const part of [...parts, '/usr/bin/node', 'attested by the system', 'process 7']) {
      expect(text).toContain(part.toLowerCase());
    }
  });

  it('keeps the rules of every card: denied by Enter, allowed by a press on an armed card only', async () => {
    const answers: unknown[] = [];
    const example = exampleAnswer({
      'interaction.list': { interactions: [{ ...common, command: 'unlock' }] },
    });
    const { page } = await openWindow(profile.page.context(), {
      hash: 'card',
      areTimersHeld: true,
      answer: async (channel, params) => {
        if (channel === 'interaction.answer') answers.push(params);
        return example(channel, params);
      },
    });
    const approve = button(page, 'Let it');
    await timerHeld(page);
    expect(await approve.isDisabled()).toBe(true);
    await releaseTimers(page);
    await armed(page);
    await page.evaluate('document.querySelector("button.primary").click()');
    await approve.press('Space');
    await button(page, 'Not now').click();
    await page.getByText('Not decided.').waitFor();
    await button(page, 'Deny').press('Enter');
    await expect.poll(() => answers).toEqual(['yes', 'later', 'no'].map((answer) => ({ id: 'q1', answer })));
  });
});

describe('the card of a program that pairs', () => {
  it('shows the digits that the program shows, in the main window too, and gives the focus back', async () => {
    const desk = await openDesk();
    const code = Promise.withResolvers<string>();
    const pairing = desk.pairing('editor', code.resolve);
    pairing.catch(() => undefined);
    const digits = await code.promise;
    const { page } = await openWindow(profile.page.context(), { answer: desk.answer, hash: 'servers' });
    const answer = page.getByRole('button', { name: /^Answer… editor wants to be paired/ });
    await answer.press('Enter');
    const dialog = page.getByRole('dialog');
    expect(await dialog.innerText()).toContain(digits);
    expect(await dialog.innerText()).toContain(process.execPath);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await answer.evaluate((opener) => opener.matches(':focus'))).toBe(true);
    await answer.click();
    const pair = dialog.getByRole('button', { name: 'Pair' });
    await dialog.locator('button.primary:enabled').waitFor();
    await pair.click();
    expect((await pairing).isOpen).toBe(true);
    await answer.waitFor({ state: 'detached' });
  });
});

describe('the card of a sign-in', () => {
  it('names server and issuer, takes a pasted address only if it is the right one, and calls it off', async () => {
    const desk = await openDesk();
    desk.person = false;
    const { resource, owner, world } = desk;
    const signIn = owner.request('login.start', { resource });
    signIn.catch(() => undefined);
    await questionId(owner, 'login');
    const { page } = await cardWindow(desk);
    const card = page.locator('.question');
    await card.waitFor();
    expect(await card.innerText()).toContain(resource);
    expect(await card.innerText()).toContain(world.authorizationServer.issuer);
    expect(await page.getByLabel('Address of the page').inputValue()).toContain(
      world.authorizationServer.issuer,
    );
    const open = button(page, 'Open the page');
    await armed(page);
    await page.evaluate('document.querySelector("button.primary").click()');
    await open.click();
    await page.getByText('The page opens in your browser.').waitFor();
    expect(desk.openedPages).toEqual([await questionId(owner, 'login')]);
    const paste = page.getByLabel(/^Signed in on another device/);
    await paste.fill('http://127.0.0.1:1/callback?code=foreign-code&state=foreign');
    await page.getByRole('button', { name: 'Use this address' }).click();
    await page.getByRole('alert').waitFor();
    expect(await paste.inputValue()).toBe('');
    expect(await page.content()).not.toContain('foreign-code');
    await page.getByRole('button', { name: 'Call it off' }).click();
    await gone(page);
    await expect(signIn).rejects.toMatchObject({ reason: expect.stringMatching(/access_denied|login_/) });
  });
});
