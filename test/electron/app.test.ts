/** The desktop app as a whole over the double: a real daemon, real servers, and pages of a real Chromium. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { connect, pair } from '../../src/client/index.ts';
import { applicationMenu } from '../../electron/application-menu.ts';
import { callMessage } from '../../electron/messages.ts';
import { windowOptions } from '../../electron/windows.ts';
import { app, double } from '../support/electron-double.ts';
import { homeInBentWorld } from '../support/bent-home.ts';
import { homeInWorld, newHome, type TestHome, until } from '../support/home.ts';
import { verdictOn } from '../support/notebook.ts';
import { ask, openApp, press, startInDouble, valueOf } from './rig.ts';

/** Milliseconds: a little more than a card has to be looked at. It runs on the clock that the app reads. */
const aLook = 600;

/** The card window's page at this question, once somebody clicked its notification. */
async function cardPage(kind: string, earlier = ''): Promise<{ page: Page; id: string }> {
  const notification = await until(`a notification of ${kind}`, () =>
    double.notifications.find(({ options }) => options.body?.includes(kind)),
  );
  double.notifications = [];
  notification.emit('click');
  const page = await until('the card window', async () => {
    const pages = await Promise.all(double.windows.map(({ webContents }) => webContents.page));
    return pages.find((open) => /#card\/./.test(open.url()) && !open.url().endsWith(`/${earlier}`));
  });
  const [, id = ''] = page.url().split('#card/');
  return { page, id };
}

async function approve({ page, id }: { page: Page; id: string }) {
  valueOf(await ask(page, 'card.shown', { id }));
  await page.evaluate((wait) => new Promise((done) => setTimeout(done, wait)), aLook);
  return press(page, 'interaction.answer', { id, answer: 'yes' });
}

/** Runs a command that widens something, and says yes to its card. */
async function withYes(home: TestHome, args: readonly string[]): Promise<void> {
  const command = home.start(args);
  expect(await approve(await cardPage('A command wants to'))).toEqual({ ok: true, value: {} });
  expect(await command.ended).toMatchObject({ code: 0, stdout: '' });
}

/** Clicks a row of the tray's menu. */
function choose(label: string): void {
  const items = double.tray?.menu ?? [];
  const item = items.find((row) => row.label?.startsWith(label));
  // Electron hands a click's surroundings on, which nothing here reads.
  (item?.click as (() => void) | undefined)?.();
  if (!item) throw new Error(`no row ${label} in ${items.map((row) => row.label).join(', ')}`);
}

const iconShows = (state: string): Promise<boolean> =>
  until(`the icon shows ${state}`, () => path.basename(double.tray?.image ?? '').startsWith(state));

const keyFiles = (home: TestHome): string[] =>
  ['owner.key', path.join('clients', 'editor.key')].map((name) => {
    const { key } = JSON.parse(readFileSync(path.join(home.paths.config, name), 'utf8')) as { key: string };
    return key;
  });

describe('a journey through the windows', () => {
  it('pairs and allows a program by cards, signs in by one page, revokes, and no secret crosses the bridge', async () => {
    const { home, world, resource } = await homeInWorld();
    const main = await openApp(home);
    await iconShows('fine');

    const pairing = pair({ name: 'editor', env: home.env, onCode: () => undefined });
    const first = await cardPage('paired');
    expect(await approve(first)).toEqual({ ok: true, value: {} });
    await pairing;

    const editor = await connect({ name: 'editor', env: home.env });
    const asking = editor.getToken({ resource, interaction: 'allow' });
    asking.catch(() => undefined);
    // The same window, at another question.
    const card = await cardPage('asks for', first.id);
    await iconShows('waiting');
    // A click that the page makes itself, and one on a card that was never shown, allow nothing.
    const byScript = await ask(card.page, 'interaction.answer', { id: card.id, answer: 'yes' });
    expect(byScript).toMatchObject({ ok: false, refusal: { reason: 'not_permitted' } });
    expect(world.counts().authorizationServer.signIns).toBe(0);
    expect(await approve(card)).toEqual({ ok: true, value: {} });
    const token = await asking;
    expect((await verdictOn(world, token.access_token)).status).toBe(200);
    expect(world.counts().authorizationServer.signIns).toBe(1);
    await iconShows('fine');

    for (const channel of [
      'grant.list',
      'client.list',
      'settings.get',
      'status',
      'preferences.get',
    ] as const) {
      valueOf(await ask(main.page, channel, {}));
    }
    valueOf(await ask(main.page, 'audit.tail', { count: 100 }));
    const { revoked } = valueOf(await ask(main.page, 'grant.revoke', { resource }));
    expect(revoked).toMatchObject([{ receipt: 'confirmed' }]);
    await expect(editor.getToken({ resource, interaction: 'never' })).rejects.toMatchObject({
      reason: 'login_required',
    });
    editor.close();

    const secrets = [...world.authorizationServer.issued, token.access_token, ...keyFiles(home)];
    expect(secrets.length).toBeGreaterThan(4);
    const crossed = JSON.stringify(double.crossed);
    expect(crossed).toContain(resource);
    expect(secrets.filter((secret) => crossed.includes(secret))).toEqual([]);
    expect(double.leaked).toEqual([]);
  });

  it('carries out a command that widens after a press on its card, and after a "no" doesn’t', async () => {
    const home = newHome();
    const resource = 'https://notes.example/mcp';
    const { page } = await openApp(home);
    const permissions = async () => valueOf(await ask(page, 'client.list', {})).clients[0]?.permissions;
    const allowing = home.start(['allow', 'cli', resource, '--scope', 'notes:read']);
    const card = await cardPage('A command wants to allow "cli" "notes.example/mcp"');
    expect(valueOf(await ask(card.page, 'interaction.list', {})).interactions).toMatchObject([
      {
        id: card.id,
        kind: 'command',
        command: 'allow',
        client: 'cli',
        resource,
        asker: { pid: allowing.pid },
      },
    ]);
    // A script of the page, with the card on the screen and nothing pressed.
    const byScript = await ask(card.page, 'interaction.answer', { id: card.id, answer: 'yes' });
    expect(byScript).toMatchObject({ refusal: { reason: 'not_permitted' } });
    expect(await permissions()).toEqual([]);
    expect(await approve(card)).toEqual({ ok: true, value: {} });
    expect(await allowing.ended).toMatchObject({ code: 0, stdout: '' });
    expect(await permissions()).toMatchObject([{ resource, scope: 'notes:read', decision: 'allow' }]);

    const widening = home.start(['allow', 'cli', resource]);
    const second = await cardPage('A command wants to', card.id);
    valueOf(await ask(second.page, 'interaction.answer', { id: second.id, answer: 'no' }));
    const refused = await widening.ended;
    expect(refused).toMatchObject({ code: 4, stdout: '' });
    expect(refused.stderr).toContain('reason: consent_denied');
    expect(await permissions()).toMatchObject([{ scope: 'notes:read' }]);
  });

  it('lets an automatic sign-in wait for a click in the tray', async () => {
    const { home, world, resource } = await homeInWorld();
    await startInDouble(home, ['--hidden']);
    expect(double.windows).toEqual([]);
    await withYes(home, ['allow', 'cli', resource]);
    const asking = home.start(['token', resource]);
    await iconShows('waiting');
    await asking.says('press the question in Keyturn’s window, or visit:');
    expect(world.counts().authorizationServer.signIns).toBe(0);
    choose('Sign in to');
    expect(await asking.ended).toMatchObject({ code: 0 });
    expect(world.counts().authorizationServer.signIns).toBe(1);
    await iconShows('fine');
  });

  it('finishes a rotation that is under way before it quits', async () => {
    const { home, world, resource } = await homeInWorld();
    await startInDouble(home, ['--hidden']);
    await withYes(home, ['allow', 'cli', resource]);
    const first = home.start(['token', resource]);
    await iconShows('waiting');
    choose('Sign in to');
    const { stdout: old } = await first.ended;
    const held = world.holdTokenRequests();
    const refreshing = home.start(['token', resource, '--rejected-stdin'], { stdin: old });
    await held.arrived;
    let isGone = false;
    const gone = double.ended.promise.then(() => (isGone = true));
    app.quit();
    app.quit();
    // As long as a process takes: time enough to go, if anything let it.
    await home.keyturn(['completion', 'bash']);
    expect(isGone).toBe(false);
    held.release();
    await gone;
    await refreshing.ended;
    expect(world.counts().authorizationServer.refreshes).toBe(1);
  });
});

describe('the bridge', () => {
  it('answers the top frame of our own windows, and nobody else', async () => {
    const { page } = await openApp(newHome());
    const refused = { ok: false, refusal: { reason: 'not_permitted' } };
    await page.evaluate(`document.body.append(document.createElement('iframe'))`);
    const frame = page.frames().find((other) => other !== page.mainFrame());
    const inFrame = await frame?.evaluate(`window.electronInvoke('${callMessage}', ['status', {}])`);
    expect(inFrame).toMatchObject(refused);

    const call = double.handlers.get(callMessage);
    const { webContents } = double.windows[0] ?? {};
    const own = { url: 'keyturn-app://main/index.html', origin: 'keyturn-app://main', parent: null };
    const from = (sender: object, senderFrame: object | null): unknown =>
      call?.({ sender, senderFrame } as unknown as Parameters<typeof call>[0], 'status', {});
    // Our own address in contents that aren't a window of ours; a frame that is gone; another page in our window.
    expect(await from({ mainFrame: own }, own)).toMatchObject(refused);
    expect(await from(webContents ?? {}, null)).toMatchObject(refused);
    const elsewhere = { ...own, url: 'https://elsewhere.example/', origin: 'https://elsewhere.example' };
    const sender = Object.defineProperty(webContents ?? {}, 'mainFrame', { value: elsewhere });
    expect(await from(sender, elsewhere)).toMatchObject(refused);
  });

  it('refuses channels that are not in the table, bad params, and what widens without a press', async () => {
    const { page } = await openApp(newHome());
    for (const channel of ['token.get', 'daemon.stop', '__proto__', 'vault.export']) {
      expect(await ask(page, channel as 'status', {})).toMatchObject({
        refusal: { reason: 'method_not_found' },
      });
    }
    expect(await ask(page, 'audit.tail', { count: -1 })).toMatchObject({
      refusal: { reason: 'invalid_request' },
    });
    const resource = 'https://notes.example/mcp';
    const widening = [
      ask(page, 'permission.set', { client: 'cli', resource, decision: 'allow' }),
      ask(page, 'override.set', { server: resource, name: 'no-resource', on: true }),
      ask(page, 'registration.set', { issuer: 'https://login.example', clientId: 'x' }),
      ask(page, 'vault.passphrase', { current: 'x', next: 'y' }),
      ask(page, 'settings.set', { name: 'lockAfter', value: 60 }),
      ask(page, 'vault.unlock', {}),
      ask(page, 'login.start', { resource }),
    ];
    for (const answer of await Promise.all(widening)) {
      expect(answer).toMatchObject({ refusal: { reason: 'not_permitted' } });
    }
    expect(valueOf(await ask(page, 'client.list', {})).clients[0]?.permissions).toEqual([]);
    const denied = await ask(page, 'permission.set', { client: 'cli', resource, decision: 'deny' });
    expect(denied.ok).toBe(true);
  });

  it('keeps preferences, and exports the activity to the file that the person chose', async () => {
    const home = newHome({ env: { XDG_CONFIG_HOME: undefined } });
    const { page } = await openApp(home);
    expect(await ask(page, 'audit.export', { format: 'jsonl' })).toEqual({ ok: true, value: {} });
    double.savePath = path.join(home.folder, 'activity.csv');
    await ask(page, 'permission.set', { client: 'cli', resource: 'https://a.example', decision: 'deny' });
    const { rows } = valueOf(await ask(page, 'audit.export', { format: 'csv' }));
    expect(rows).toBeGreaterThan(0);
    expect(readFileSync(double.savePath, 'utf8')).toContain('https://a.example');
    expect(valueOf(await ask(page, 'preferences.set', { isWelcomed: true }))).toMatchObject({
      isWelcomed: true,
    });
    expect(valueOf(await ask(page, 'preferences.get', {}))).toMatchObject({
      openAtLogin: false,
      isWelcomed: true,
    });
  });
});

describe('the host', () => {
  it('asks Electron for every wall there is, before the first page', async () => {
    await openApp(newHome());
    expect(double).toMatchObject({ isSandboxed: true, errors: [] });
    expect(double.schemes).toEqual([{ scheme: 'keyturn-app', privileges: { standard: true, secure: true } }]);
    expect(windowOptions('p', { width: 400, height: 400 }).webPreferences).toMatchObject({
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      nodeIntegrationInSubFrames: false,
      webSecurity: true,
      webviewTag: false,
      devTools: false,
    });
    expect(double.windows[0]?.options).toMatchObject({ show: false, backgroundColor: '#f4f5f7' });
    // Whatever a page asks the browser for.
    const answers: boolean[] = [];
    const ofNobody = [null, 'media', (answer: boolean) => void answers.push(answer)] as unknown;
    double.permissionRequest?.(...(ofNobody as Parameters<NonNullable<typeof double.permissionRequest>>));
    expect(answers).toEqual([false]);
    expect((double.permissionCheck as () => boolean)()).toBe(false);
    expect((double.devicePermission as () => boolean)()).toBe(false);
    const stopped: string[] = [];
    double.session.emit('will-download', { preventDefault: () => stopped.push('download') });
    double.windows[0]?.webContents.emit('will-attach-webview', {
      preventDefault: () => stopped.push('webview'),
    });
    double.windows[0]?.webContents.emit('will-redirect', { preventDefault: () => stopped.push('redirect') });
    expect(stopped).toEqual(['download', 'webview', 'redirect']);
    const cancelled = [
      'https://a.example/',
      'file:///etc/passwd',
      'devtools://x/',
      'keyturn-app://main/page.js',
    ].map((url) => {
      let isCancelled: boolean | undefined;
      double.beforeRequest?.({ url }, ({ cancel }) => (isCancelled = cancel));
      return isCancelled;
    });
    expect(cancelled).toEqual([true, true, true, false]);
  });

  it('runs once a home: a second start shows the first one’s window', async () => {
    const home = newHome();
    await startInDouble(home, ['--hidden'], { isPrimary: false });
    expect(double).toMatchObject({ isReady: false, windows: [] });
    await startInDouble(home, ['--hidden']);
    expect(double.windows).toEqual([]);
    app.emit('second-instance');
    await until('the window', () => double.windows[0]?.isVisible());
    app.emit('second-instance');
    expect(double.windows.length).toBe(1);
  });

  it('shows when the network is gone, after the machine slept too, and bears a screen lock', async () => {
    await startInDouble(newHome(), ['--hidden']);
    await iconShows('fine');
    double.isOnline = false;
    double.power.emit('resume');
    await iconShows('offline');
    double.isOnline = true;
    double.power.emit('lock-screen');
    double.power.emit('resume');
    await iconShows('fine');
  });

  it('looks at what is pending when the machine wakes up, and when the network is back', async () => {
    const { home, url, authorizationServer } = await homeInBentWorld({ env: { KEYTURN_VAULT: 'memory' } });
    const { server } = authorizationServer;
    const { page } = await openApp(home);
    await withYes(home, ['allow', 'cli', url]);
    const signingIn = home.start(['token', url]);
    await iconShows('waiting');
    choose('Sign in to');
    await signingIn.ended;
    const back = server.on('*', '*', 'destroy');
    const { revoked } = valueOf(await ask(page, 'grant.revoke', { resource: url }));
    expect(revoked).toMatchObject([{ receipt: 'pending' }]);
    const tries = (): number => server.asked('/revoke').length;
    const before = tries();
    double.isOnline = false;
    double.power.emit('resume');
    await until('it is tried again', () => tries() > before);
    await iconShows('offline');
    back();
    double.isOnline = true;
    // Any look of the desk's own notices that; here the one after a window acted.
    valueOf(await ask(page, 'preferences.set', {}));
    await until('the issuer confirms', async () => {
      const [grant] = valueOf(await ask(page, 'grant.list', {})).grants;
      return grant?.receipt === 'confirmed';
    });
  });

  it('asks a system that goes down to wait until it has ended', async () => {
    await startInDouble(newHome(), ['--hidden']);
    let isAsked = false;
    double.power.emit('shutdown', { preventDefault: () => (isAsked = true) });
    await double.ended.promise;
    expect(isAsked).toBe(true);
  });

  it('has no menu with tools in it', async () => {
    await startInDouble(newHome(), ['--hidden']);
    expect(double.applicationMenu).toBeNull();
    expect(applicationMenu('darwin')).toEqual([
      { role: 'appMenu' },
      { role: 'editMenu' },
      { role: 'windowMenu' },
    ]);
  });

  it.each([
    { env: { KEYTURN_VAULT: 'nowhere' }, why: 'KEYTURN_VAULT has a bad value' },
    { env: { NODE_DEBUG: 'http' }, why: 'NODE_DEBUG is set' },
  ])('says that $why, and ends', async ({ env, why }) => {
    const home = newHome({ env });
    await startInDouble(home);
    expect(double.exitCode).toBe(1);
    expect(double.errors.join(' ')).toContain(why);
  });
});
