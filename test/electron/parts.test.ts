/** The small parts of the desktop host, each by itself. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { pageFolder } from '../../electron/base/files.ts';
import { loginItem, type LoginItem } from '../../electron/system/login-item.ts';
import { entryPage, servePage } from '../../electron/windows/page.ts';
import { PreferenceFile } from '../../electron/system/preferences.ts';
import { proxyFrom } from '../../electron/system/proxy.ts';
import { SignInPages } from '../../electron/windows/sign-in-pages.ts';
import { endAtFault, noteRejection, sayEarlierFault } from '../../electron/base/faults.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { app, double } from '../support/electron/electron-double.ts';

describe('the page’s own scheme', () => {
  it('serves the folder’s files under a policy without inline or outside content', async () => {
    const page = servePage(pageFolder);
    const response = await page(new Request(entryPage));
    expect(response.status).toBe(200);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*|data:/);
    const document = await response.text();
    const types = { js: 'text/javascript', css: 'text/css' };
    for (const [ending, type] of Object.entries(types)) {
      const [name] = new RegExp(`assets/[^"]+[.]${ending}`).exec(document) ?? [];
      const { headers } = await page(new Request(`keyturn-app://main/${name}`));
      expect(headers.get('content-type')).toContain(type);
    }
  });

  it.each([
    'keyturn-app://main/../cli/bin.js',
    // There, and of a kind that is served, but outside the folder.
    'keyturn-app://main/..%2fcli%2fbin.js',
    'keyturn-app://main/..%2f..%2fassets%2ftray%2ffineWhite.png',
    'keyturn-app://main/%2e%2e%2f%2e%2e%2f%2e%2e%2fpackage.json',
    'keyturn-app://main//etc/passwd',
    'keyturn-app://main/missing.js',
    'keyturn-app://other/index.html',
    'keyturn-app://main/index.html%00.js',
    'keyturn-app://main/',
  ])('answers %s with nothing', async (url) => {
    const page = servePage(pageFolder);
    expect((await page(new Request(url))).status).toBe(404);
  });
});

describe('the system’s proxy', () => {
  it.each([
    ['DIRECT', undefined],
    ['PROXY proxy.example:3128', 'http://proxy.example:3128'],
    ['SOCKS5 s.example:1; HTTPS p.example:443; DIRECT', 'https://p.example:443'],
    ['PROXY ; DIRECT', undefined],
  ])('reads %s', (answer, proxy) => {
    expect(proxyFrom(answer)).toBe(proxy);
  });

  it('goes past no proxy that it can’t use', () => {
    for (const answer of ['SOCKS5 s.example:1080', 'SOCKS s.example:1080; SOCKS5 t.example:1080']) {
      expect(() => proxyFrom(answer)).toThrow(
        expect.objectContaining({
          message: 'The system asks for a SOCKS proxy, which Keyturn can’t use.',
          hint: expect.stringContaining('keyturn settings set httpsProxy http://HOST:PORT'),
        }) as Error,
      );
    }
    expect(() => proxyFrom('QUIC q.example:443')).toThrow(/a proxy of another kind/);
  });
});

describe('start at login', () => {
  const onLinux = { platform: 'linux', isPackaged: true } as const;

  it('is one desktop file on Linux, with the program quoted', async () => {
    const home = temporaryFolder();
    const program = '/opt/A $b%/key"turn';
    const item = loginItem(app, { ...onLinux, env: { XDG_CONFIG_HOME: home }, program });
    expect(await item.isOn()).toBe(false);
    await item.set(true);
    expect(await item.isOn()).toBe(true);
    const text = readFileSync(path.join(home, 'autostart', 'keyturn.desktop'), 'utf8');
    expect(text).toContain(String.raw`Exec="/opt/A \\$b%%/key\\"turn" --hidden`);
    expect(text).toMatch(/^Icon=keyturn-desktop$/m);
    await item.set(false);
    await item.set(false);
    expect(await item.isOn()).toBe(false);
  });

  it.each([
    ['the image of an AppImage', '/tmp/.mount_key/keyturn-desktop', true, '"/home/anna/Keyturn.AppImage"'],
    ['itself where the image is another program’s', '/opt/keyturn', true, '"/opt/keyturn"'],
    ['Electron with the app in a clone', '/clone/electron', false, '"/clone/electron" "/clone/main.js"'],
  ])('starts %s', async (_what, program, isPackaged, command) => {
    const home = temporaryFolder();
    const env = { XDG_CONFIG_HOME: home, APPIMAGE: '/home/anna/Keyturn.AppImage', APPDIR: '/tmp/.mount_key' };
    const script = '/clone/main.js';
    await loginItem(app, { env, platform: 'linux', isPackaged, program, script }).set(true);
    const text = readFileSync(path.join(home, 'autostart', 'keyturn.desktop'), 'utf8');
    expect(text).toContain(`\nExec=${command} --hidden\n`);
  });

  it('starts the app at its new place after a move, and keeps other lines', async () => {
    const home = temporaryFolder();
    const file = path.join(home, 'autostart', 'keyturn.desktop');
    const at = (program: string): LoginItem =>
      loginItem(app, { ...onLinux, env: { XDG_CONFIG_HOME: home }, program });
    await at('/new/keyturn').renew();
    expect(existsSync(file)).toBe(false);
    await at('/old/keyturn').set(true);
    writeFileSync(file, `${readFileSync(file, 'utf8')}X-GNOME-Autostart-Delay=5\n`);
    const before = readFileSync(file, 'utf8');
    await at('/new/$&/keyturn').renew();
    const execOld = 'Exec="/old/keyturn"';
    expect(before).toContain(execOld);
    const execNew = String.raw`Exec="/new/\\$&/keyturn"`;
    expect(readFileSync(file, 'utf8')).toBe(before.split(execOld).join(execNew));
    const off = `${before}Hidden=true\n`;
    writeFileSync(file, off);
    await at('/new/keyturn').renew();
    expect(readFileSync(file, 'utf8')).toBe(off);
  });
});

it('an unforeseen fault ends the app, or is noted, by the error’s name alone', () => {
  double.reset();
  double.paths.set('userData', temporaryFolder());
  let said = '';
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  onTestFinished(() => write.mockRestore());
  noteRejection('a-secret');
  expect(double.exitCode).toBeUndefined();
  const error = Object.assign(new TypeError('a-secret'), { name: 'a-secret' });
  endAtFault(error);
  // At once: a dialog would keep the lock of the home until somebody looks.
  expect(double).toMatchObject({ exitCode: 1, errors: [] });
  double.isReady = true;
  sayEarlierFault();
  sayEarlierFault();
  expect(double.errors).toEqual([expect.stringContaining('Please report it')]);
  expect(said).toContain('TypeError');
  expect(said + double.errors.join()).not.toContain('a-secret');
});

describe('the preferences', () => {
  it('are kept in a file of the user’s, with defaults for the rest', () => {
    const home = temporaryFolder();
    expect(new PreferenceFile(home).choices()).toEqual({
      notifications: true,
      isWelcomed: false,
      windowAtLogin: false,
      isTrayTold: false,
    });
    new PreferenceFile(home).choose({ isWelcomed: true, notifications: undefined });
    new PreferenceFile(home).saveSize('main', { width: 800, height: 600 });
    const read = new PreferenceFile(home);
    expect(read.choices()).toMatchObject({ isWelcomed: true, notifications: true });
    expect(read.size('main')).toEqual({ width: 800, height: 600 });
    expect(statSync(path.join(home, 'preferences.json')).mode & 0o077).toBe(0);
  });

  it.each(['{', '{"choices":{"notifications":"yes"}}'])('are kept and refused where they read %s', (text) => {
    const home = temporaryFolder();
    const file = path.join(home, 'preferences.json');
    writeFileSync(file, text);
    const read = new PreferenceFile(home);
    expect(() => read.choose({ isWelcomed: true })).toThrow(
      expect.objectContaining({ reason: 'file_unreadable' }),
    );
    expect(read.size('main')).toBeUndefined();
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});

describe('a sign-in’s page', () => {
  const url = 'http://127.0.0.1:61234/an-address-of-ours';
  const resource = 'https://notes.example/mcp';
  const setUp = (page = url) => {
    const opened: string[] = [];
    let now = 0;
    const question = {
      id: 'q1',
      kind: 'signIn' as const,
      resource,
      url: 'https://login.example/authorize?x=1',
      startUrl: page,
      startedBy: 'window' as const,
      createdAt: 0,
      state: 'open',
    };
    const pages = new SignInPages({
      questions: () => Promise.resolve([question]),
      open: (address) => Promise.resolve(void opened.push(address)),
      now: () => now,
    });
    return { pages, opened, question, pass: (milliseconds: number) => void (now += milliseconds) };
  };

  it('waits for a click', async () => {
    const { pages, opened } = setUp();
    await pages.openIfAllowed(url);
    expect(opened).toEqual([]);
    await pages.open('q1');
    expect(opened).toEqual([url]);
  });

  it('needs a card of its own only if no click leads to it', async () => {
    const { pages, question, pass } = setUp();
    const signIn = { ...question, startedBy: undefined };
    expect(pages.waits(signIn)).toBe(true);
    expect(pages.waits(question)).toBe(false);
    expect(pages.waits({ ...signIn, kind: 'allow' })).toBe(false);
    pages.allowPage(resource);
    expect(pages.waits(signIn)).toBe(false);
    pass(60_001);
    expect(pages.waits(signIn)).toBe(true);
    expect(await pages.withPage(resource, async () => pages.waits(signIn))).toBe(false);
    await pages.open('q1');
    expect(pages.waits(signIn)).toBe(false);
  });

  it('opens again where the window starts an equal sign-in, and for no other', async () => {
    const { pages, opened } = setUp();
    await pages.reopen({ resource: 'https://elsewhere.example/mcp' });
    await pages.reopen({ resource, account: 'work' });
    expect(opened).toEqual([]);
    await pages.reopen({ resource });
    expect(opened).toEqual([url]);
  });

  it('opens after the approval that led to it, once', async () => {
    const { pages, opened } = setUp();
    pages.allowPage(resource);
    await pages.openIfAllowed(url);
    await pages.openIfAllowed(url);
    expect(opened).toEqual([url]);
  });

  it('opens as the address of a card, once, exactly as that card showed it', async () => {
    const { pages, opened, pass } = setUp();
    const address = 'https://pay.example/checkout?order=7';
    await pages.openIfAllowed(address);
    pages.allowAddress(address);
    await pages.openIfAllowed('https://pay.example/checkout?order=8');
    await pages.openIfAllowed(address);
    await pages.openIfAllowed(address);
    expect(opened).toEqual([address]);
    pages.allowAddress(address);
    pass(60_001);
    await pages.openIfAllowed(address);
    expect(opened).toEqual([address]);
  });

  it('opens one page within a sign-in that the user started there', async () => {
    const { pages, opened, pass } = setUp();
    await pages.withPage(resource, async () => {
      await pages.openIfAllowed(url);
      await pages.openIfAllowed(url);
    });
    await pages.withPage('https://elsewhere.example/mcp', () => pages.openIfAllowed(url));
    await pages.openIfAllowed(url);
    pages.allowPage(resource);
    pass(60_001);
    await pages.openIfAllowed(url);
    expect(opened).toEqual([url]);
  });

  it('opens for the user’s sign-in although an earlier one there has ended', async () => {
    const { pages, opened } = setUp();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const earlier = pages.withPage(resource, () => first.promise);
    await pages.openIfAllowed(url);
    const later = pages.withPage(resource, () => second.promise);
    first.resolve();
    await earlier;
    await pages.openIfAllowed(url);
    await pages.openIfAllowed(url);
    expect(opened).toEqual([url, url]);
    second.resolve();
    await later;
    await pages.openIfAllowed(url);
    expect(opened).toEqual([url, url]);
  });

  it.each(['javascript:alert(1)', 'file:///etc/passwd', 'http://login.example/'])(
    'never opens %s',
    async (page) => {
      const { pages, opened } = setUp(page);
      await expect(pages.open('q1')).rejects.toMatchObject({ reason: 'insecure_url' });
      await expect(pages.open('q2')).rejects.toMatchObject({ reason: 'not_found' });
      expect(opened).toEqual([]);
    },
  );
});
