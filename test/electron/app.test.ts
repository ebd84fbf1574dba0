/** The desktop app over the double: a real broker, and pages of a real Chromium. Its use is in test/journeys/. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { callMessage } from '../../electron/bridge/messages.ts';
import { windowOptions } from '../../electron/windows/windows.ts';
import { app, double } from '../support/electron/electron-double.ts';
import { homeInBentWorld } from '../support/bent/home.ts';
import { newHome, type TestHome, until } from '../support/home.ts';
import {
  type App,
  ask,
  askByPress,
  iconShows,
  lookAt,
  onlyPage,
  openApp,
  openGroup,
  startInDouble,
  valueOf,
} from './rig.ts';
import { approve, cardPage, deny, withYes } from './command-card.ts';
import { openWorld, type TestWorld } from '../support/world.ts';
import { listenBeside, screenSession } from '../support/processes/screen-saver.ts';

describe('one app', () => {
  const group = openGroup();
  let desk: { readonly home: TestHome; readonly opened: App; readonly page: Page };

  beforeAll(async () => {
    const home = group.newHome({ env: { XDG_CONFIG_HOME: undefined } });
    const opened = await openApp(home, [], group.atEnd);
    desk = { home, opened, page: await onlyPage(opened) };
  });

  /** Each test has a server of its own. */
  async function permissionsAt(resource: string) {
    const [command] = valueOf(await ask(desk.page, 'app.list', {})).apps;
    return command?.permissions.filter((permission) => permission.resource === resource) ?? [];
  }

  it('the app asks Electron for every wall there is before the first page', async () => {
    expect(double).toMatchObject({ isSandboxed: true, errors: [] });
    expect([...double.listeners]).toEqual([]);
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
      'keyturn-app://main/index.html',
    ].map((url) => {
      let isCancelled: boolean | undefined;
      double.beforeRequest?.({ url }, ({ cancel }) => (isCancelled = cancel));
      return isCancelled;
    });
    expect(cancelled).toEqual([true, true, true, false]);
  });

  describe('a command that widens something', () => {
    it('is carried out after an approval on its card, and not after a denial', async () => {
      const { home } = desk;
      const resource = 'https://notes.example/mcp';
      const permissions = () => permissionsAt(resource);
      const allowing = home.start(['app', 'allow', 'cli', resource, '--scope', 'notes:read']);
      const card = await cardPage('A command wants to give the keyturn command access to notes.example/mcp');
      expect(valueOf(await ask(card.page, 'request.list', {})).requests).toMatchObject([
        {
          id: card.id,
          kind: 'command',
          command: 'allow',
          app: 'cli',
          resource,
          appProcess: { pid: allowing.pid },
        },
      ]);
      // A script of the page, with the card on the screen and nothing pressed.
      const byScript = await ask(card.page, 'request.answer', { id: card.id, answer: 'approve' });
      expect(byScript).toMatchObject({ refusal: { reason: 'not_permitted' } });
      expect(await permissions()).toEqual([]);
      expect(await approve(card)).toEqual({ ok: true, value: {} });
      expect(await allowing.ended).toMatchObject({ code: 0, stdout: '' });
      expect(await permissions()).toMatchObject([{ resource, scope: 'notes:read', decision: 'allow' }]);
      const widening = home.start(['app', 'allow', 'cli', resource]);
      const second = await cardPage('A command wants to');
      await deny(second);
      const refused = await widening.ended;
      expect(refused).toMatchObject({ code: 4, stdout: '' });
      expect(refused.stderr).toContain('reason: consent_denied');
      expect(await permissions()).toMatchObject([{ scope: 'notes:read' }]);
    });

    it('can’t be approved from the page without a press', async () => {
      // Nobody answers there: the permission stays held to the scopes of a first token.
      const resource = 'https://127.0.0.1:1/mcp';
      const { home, page } = desk;
      const asking = home.start(['token', resource]);
      expect(await approve(await cardPage('The keyturn command wants access'))).toEqual({
        ok: true,
        value: {},
      });
      await asking.ended;
      const [held] = await permissionsAt(resource);
      expect(held).toMatchObject({ resource, decision: 'allow' });
      const { until: end = 0 } = held ?? {};
      const anew = { app: 'cli', resource, decision: 'allow' as const, until: end - 60 };
      expect(await ask(page, 'permission.set', anew)).toMatchObject({ refusal: { reason: 'not_permitted' } });
      const denied = { ...anew, decision: 'deny' as const };
      expect(await ask(page, 'permission.set', denied)).toMatchObject({ ok: true });
    });
  });

  describe('the bridge', () => {
    it('answers the top frame of our own windows, and nobody else', async () => {
      const { page } = desk;
      const refused = { ok: false, refusal: { reason: 'not_permitted' } };
      await page.evaluate(`document.body.append(document.createElement('iframe'))`);
      onTestFinished(() => page.evaluate(`document.querySelector('iframe').remove()`));
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
      const sender = Object.defineProperty(webContents ?? {}, 'mainFrame', {
        value: elsewhere,
        configurable: true,
      });
      // Back to what it inherits, for the next test.
      onTestFinished(() => void Reflect.deleteProperty(sender, 'mainFrame'));
      expect(await from(sender, elsewhere)).toMatchObject(refused);
    });

    it('refuses unknown channels, bad params, and approvals without a press', async () => {
      const { page } = desk;
      for (const channel of ['token.get', 'broker.stop', '__proto__', 'vault.export']) {
        expect(await ask(page, channel as 'status', {})).toMatchObject({
          refusal: { reason: 'method_not_found' },
        });
      }
      expect(await ask(page, 'audit.tail', { count: -1 })).toMatchObject({
        refusal: { reason: 'invalid_request' },
      });
      // Names a program that the main process would run: not a window's to say, press or not.
      const browser = { name: 'browser' as 'lockAfter', value: 'evil' };
      expect(await ask(page, 'settings.set', browser)).toMatchObject({
        refusal: { reason: 'invalid_request' },
      });
      const resource = 'https://files.example/mcp';
      // Only the press is missing.
      double.windows[0]?.focus();
      await lookAt(page);
      const widening = [
        ask(page, 'permission.set', { app: 'cli', resource, decision: 'allow' }),
        ask(page, 'exception.set', { server: resource, name: 'no-resource', on: true }),
        ask(page, 'oauthClient.add', { issuer: 'https://login.example', clientId: 'x' }),
        ask(page, 'vault.passphrase', { current: 'x', next: 'y' }),
        ask(page, 'settings.set', { name: 'lockAfter', value: 60 }),
        ask(page, 'proxy.add', { resource }),
        ask(page, 'setup.apply', { look: 'look', entries: ['entry'] }),
        ask(page, 'setup.undo', {}),
        ask(page, 'proxy.copy', { proxy: 'notes' }),
        ask(page, 'vault.unlock', {}),
        ask(page, 'vault.useFile', {}),
        ask(page, 'signIn.start', { resource }),
        ask(page, 'signIn.answer', { id: '12345678', isErrorPage: true }),
      ];
      for (const answer of await Promise.all(widening)) {
        const refusal = { reason: 'not_permitted', message: expect.stringContaining('was pressed in this') };
        expect(answer).toMatchObject({ refusal });
      }
      expect(await permissionsAt(resource)).toEqual([]);
      const denied = await ask(page, 'permission.set', { app: 'cli', resource, decision: 'deny' });
      expect(denied.ok).toBe(true);
    });

    it('keeps preferences, and exports the activity to the file that the user chose', async () => {
      const { home, page } = desk;
      expect(await ask(page, 'audit.export', { format: 'jsonl' })).toEqual({ ok: true, value: {} });
      double.savePath = path.join(home.folder, 'activity.csv');
      // Somebody else may read what stood there before.
      writeFileSync(double.savePath, 'old', { mode: 0o644 });
      await ask(page, 'permission.set', { app: 'cli', resource: 'https://a.example', decision: 'deny' });
      const { rows } = valueOf(await ask(page, 'audit.export', { format: 'csv' }));
      expect(rows).toBeGreaterThan(0);
      expect(readFileSync(double.savePath, 'utf8')).toContain('https://a.example');
      expect(statSync(double.savePath).mode & 0o777).toBe(0o600);
      double.savePath = path.join(home.folder, 'nowhere', 'activity.csv');
      expect(await ask(page, 'audit.export', { format: 'csv' })).toMatchObject({
        refusal: { reason: 'file_unreadable' },
      });
      expect(valueOf(await ask(page, 'preferences.set', { isWelcomed: true }))).toMatchObject({
        isWelcomed: true,
      });
      expect(valueOf(await ask(page, 'preferences.get', {}))).toMatchObject({
        openAtLogin: false,
        isWelcomed: true,
      });
    });
  });
});

describe('a command that waits for a sign-in', () => {
  const group = openGroup();
  let worlds: readonly [TestWorld, TestWorld];
  let desk: { readonly home: TestHome; readonly opened: App };

  beforeAll(async () => {
    worlds = [await openWorld(), await openWorld()];
    for (const world of worlds) group.atEnd(() => world.close());
    const home = group.newHome({ world: worlds[0] });
    desk = { home, opened: await openApp(home, ['--hidden'], group.atEnd) };
  });

  it('leaves its sign-in to a click, says so, and shows it on a card until it is over', async () => {
    const { home, opened } = desk;
    const [world] = worlds;
    const { resource } = world.protectedServer;
    expect(double.windows).toEqual([]);
    await withYes(home, ['app', 'allow', 'cli', resource]);
    const asking = home.start(['token', resource]);
    await iconShows(opened, 'waiting');
    await asking.says('open the request in Keyturn’s window.');
    expect(world.counts().authorizationServer.signIns).toBe(0);
    const { webContents } = await until('the card', () => double.windows.find((open) => open.isVisible()));
    await (await webContents.page).getByRole('button', { name: 'Cancel sign-in' }).waitFor();
    await opened.choose('Sign in to');
    expect(await asking.ended).toMatchObject({ code: 0 });
    expect(world.counts().authorizationServer.signIns).toBe(1);
    await until('the card is closed', () => double.windows.length === 0);
    await iconShows(opened, 'fine');
  });

  it('opens the page of a command’s sign-in only after approval of its card', async () => {
    const { home } = desk;
    const [, world] = worlds;
    const { resource } = world.protectedServer;
    const signingIn = home.start(['login', resource, '--account', 'work', '--json']);
    const card = await cardPage('A command wants to sign in to');
    expect(valueOf(await ask(card.page, 'request.list', {})).requests).toMatchObject([
      { id: card.id, command: 'signIn', resource, account: 'work', method: 'browser' },
    ]);
    expect(world.counts().authorizationServer.signIns).toBe(0);
    expect(await approve(card)).toEqual({ ok: true, value: {} });
    const { code, stdout } = await signingIn.ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ resource, account: 'work', state: 'active' });
    expect(world.counts().authorizationServer.signIns).toBe(1);
  });
});

describe('the host', () => {
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

  it('shows its window to a second start that comes before the first is up', async () => {
    const starting = startInDouble(newHome(), ['--hidden']);
    app.emit('second-instance');
    await starting;
    await until('the window', () => double.windows[0]?.isVisible());
  });

  it('locks with the screen and before sleep, if the user wants that', async () => {
    const { env, say } = await screenSession();
    const opened = await openApp(newHome({ env }));
    const page = await onlyPage(opened);
    const preferences = async () => valueOf(await ask(page, 'preferences.get', {}));
    await until('the screen is listened to', async () => (await preferences()).screenLock === 'listening');
    expect(await preferences()).toMatchObject({ lockWithScreen: false });
    const isSaid = await listenBeside(env);
    say('org.gnome.ScreenSaver', true);
    await until('it was said', isSaid);
    await iconShows(opened, 'fine');
    valueOf(await ask(page, 'preferences.set', { lockWithScreen: true }));
    say('org.gnome.ScreenSaver', false);
    say('org.gnome.ScreenSaver', true);
    await iconShows(opened, 'held');
    // The page alone can't end it; the main process saw no press.
    expect(await ask(page, 'preferences.set', { lockWithScreen: false })).toMatchObject({
      refusal: { reason: 'not_permitted' },
    });
    expect(await preferences()).toMatchObject({ lockWithScreen: true });
    // A press counts once the window was in front for half a second. A locked vault vouches for no setting.
    const pressed = async (channel: 'vault.unlock' | 'preferences.set', params: object): Promise<void> => {
      await until(`a press counts for ${channel}`, async () => {
        const press = () => page.keyboard.press('Shift');
        return (await askByPress(page, press, channel, params)).ok;
      });
    };
    await pressed('vault.unlock', {});
    await iconShows(opened, 'fine');
    double.power.emit('suspend');
    await iconShows(opened, 'held');
    await pressed('vault.unlock', {});
    await pressed('preferences.set', { lockWithScreen: false });
    expect(await preferences()).toMatchObject({ lockWithScreen: false });
  });

  it('looks at what is pending when the machine wakes up, and when the network is back', async () => {
    const { home, url, authorizationServer } = await homeInBentWorld({ env: { KEYTURN_VAULT: 'memory' } });
    const opened = await openApp(home);
    const page = await onlyPage(opened);
    await withYes(home, ['app', 'allow', 'cli', url]);
    const signingIn = home.start(['token', url]);
    await iconShows(opened, 'waiting');
    await opened.choose('Sign in to');
    await signingIn.ended;
    const back = authorizationServer.server.on('*', '*', 'destroy');
    const { revoked } = valueOf(await ask(page, 'signIn.revoke', { resource: url }));
    expect(revoked).toMatchObject([{ receipt: 'pending' }]);
    const tries = (): number => authorizationServer.server.asked('/revoke').length;
    const before = tries();
    double.isOnline = false;
    double.power.emit('resume');
    await until('it is tried again', () => tries() > before);
    await iconShows(opened, 'trouble');
    back();
    double.isOnline = true;
    // Any look of the desk's own notices that; here the one after another preference.
    valueOf(await ask(page, 'preferences.set', {}));
    await until('the issuer confirms', async () => {
      const [signIn] = valueOf(await ask(page, 'signIn.list', {})).signIns;
      return signIn?.receipt === 'confirmed';
    });
  });

  it('asks a system that goes down to wait until it has ended', async () => {
    await startInDouble(newHome(), ['--hidden']);
    let isAsked = false;
    double.power.emit('shutdown', { preventDefault: () => (isAsked = true) });
    await double.ended.promise;
    expect(isAsked).toBe(true);
  });
});
