/** What the tray shows for each state, and the words in it. */
import { describe, expect, it } from 'vitest';
import { existsSync } from 'node:fs';
import { trayIcon } from '../../electron/base/files.ts';
import { Notifications } from '../../electron/tray/notifications.ts';
import { isPanelDark, TrayIcon } from '../../electron/tray/tray.ts';
import { inNotification } from '../../electron/base/words.ts';
import { double } from '../support/electron/electron-double.ts';
import { type MenuState, menuRows, type MenuRow } from '../../electron/tray/menu.ts';
import {
  changesSince,
  type Question,
  type Server,
  trayState,
  trayStates,
} from '../../electron/base/summary.ts';

const server = (state: string, endpoint = 'https://notes.example/mcp'): Server => ({
  id: endpoint,
  resource: endpoint,
  endpoint,
  issuer: 'https://login.example',
  scope: '',
  state,
  overrides: [],
  clients: [],
});

const question = (kind: Question['kind'], id = 'q1'): Question => ({
  id,
  kind,
  client: 'editor',
  resource: 'https://notes.example/mcp',
  issuer: 'https://login.example',
  createdAt: 0,
  state: 'open',
});

const fine: MenuState = {
  questions: [],
  servers: [server('active')],
  isLocked: false,
  isOnline: true,
  needsPassphrase: false,
  startsAtLogin: false,
};

const labels = (rows: readonly MenuRow[]): string[] => rows.map((row) => ('label' in row ? row.label : '-'));

describe('the icon', () => {
  it.each([
    ['fine', {}],
    ['signedOut', { servers: [server('active'), server('loginRequired')] }],
    ['offline', { isOnline: false, servers: [server('loginRequired')] }],
    ['locked', { isLocked: true, isOnline: false }],
    ['waiting', { questions: [question('allow')], isLocked: true, isOnline: false }],
  ] as const)('shows %s, the most pressing first', (state, change) => {
    expect(trayState({ ...fine, ...change })).toBe(state);
  });

  it('has a picture for every state, for light and dark panels', () => {
    const files = trayStates.flatMap((state) => [trayIcon(state, 'light'), trayIcon(state, 'dark')]);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
    expect(files.filter((file) => !existsSync(file.replace('.png', '@2x.png')))).toEqual([]);
  });
});

describe('the colour of the icon', () => {
  const theme = (windows: boolean, taskbar = windows) => ({
    shouldUseDarkColors: windows,
    shouldUseDarkColorsForSystemIntegratedUI: taskbar,
  });
  const on = (desktop: string) => ({ XDG_CURRENT_DESKTOP: desktop });

  it.each([
    ['the windows’ dark theme', 'linux', on('KDE'), theme(true), true],
    ['the windows’ light theme', 'linux', on('KDE'), theme(false), false],
    ['GNOME’s panel, which is dark in the light theme too', 'linux', on('ubuntu:GNOME'), theme(false), true],
    ['the taskbar’s own dark theme on Windows', 'win32', {}, theme(false, true), true],
    ['the taskbar’s own light theme on Windows', 'win32', {}, theme(true, false), false],
    ['nothing on macOS, which colours it itself', 'darwin', {}, theme(true), false],
  ] as const)('follows %s', (_what, platform, env, colours, isDark) => {
    expect(isPanelDark(platform, env, colours)).toBe(isDark);
  });
});

describe('the open menu', () => {
  it('stays as it is while nothing of it changes', () => {
    double.reset();
    const tray = new TrayIcon(fine, () => undefined);
    const { menu } = double;
    tray.show({ ...fine, questions: [] });
    expect(double.menu).toBe(menu);
    tray.show({ ...fine, isLocked: true });
    expect(double.menu).not.toBe(menu);
    tray.remove();
  });
});

describe('a notification', () => {
  it('has nothing in it that a desktop reads as markup', () => {
    const text = '"<a href=x>&amp;" asks';
    expect(inNotification(text, 'linux')).toBe('"‹a href=x›＆amp;" asks');
    expect(inNotification(text, 'win32')).toBe(text);
    double.reset();
    const shown = new Notifications(() => undefined);
    shown.show({ questions: [{ ...question('pair'), client: '<b>editor</b>' }], signedOut: [] });
    const [{ options } = {}] = double.notifications;
    expect(options?.body).toBe(inNotification('"<b>editor</b>" wants to connect'));
    // It waits as long as its question.
    expect(options?.timeoutType).toBe('never');
    shown.keepOnly([]);
    expect(double.notifications).toEqual([]);
  });
});

describe('the menu', () => {
  it('has questions first, then servers with those signed out before the others, then the rest', () => {
    const rows = menuRows({
      ...fine,
      questions: [question('allow'), question('pair', 'q2'), question('login', 'q3')],
      servers: [server('active'), server('loginRequired', 'https://mail.example')],
    });
    expect(labels(rows)).toEqual([
      '"editor" wants access to "notes.example/mcp"',
      '"editor" wants to connect',
      'Sign in to "notes.example/mcp" at "login.example"',
      '-',
      '"mail.example": signed out',
      '"notes.example/mcp": signed in',
      '-',
      'Lock',
      'Open Keyturn',
      'Start at login',
      '-',
      'Quit',
    ]);
  });

  it('opens a card or the page of a sign-in, and never answers', () => {
    const rows = menuRows({ ...fine, questions: [question('allow'), question('device', 'q2')] });
    expect(rows.slice(0, 2)).toMatchObject([
      { action: { type: 'card', id: 'q1' } },
      { action: { type: 'page', id: 'q2' } },
    ]);
    expect(JSON.stringify(rows)).not.toMatch(/"yes"|allow/);
  });

  it.each([
    [{ command: 'allow' }, 'give "editor" access to "notes.example/mcp"'],
    [{ command: 'endDenial' }, 'undo the denial of "editor" at "notes.example/mcp"'],
    [{ command: 'register' }, 'add an OAuth client for "login.example"'],
    [{ command: 'login' }, 'sign in to "notes.example/mcp"'],
    [
      { command: 'override', server: 'https://notes.example/mcp' },
      'add a security exception for "notes.example/mcp"',
    ],
    [{ command: 'settings', setting: { name: 'browser' } }, 'change the setting "browser"'],
    [{ command: 'unlock' }, 'unlock the vault'],
    [{ command: 'passphrase' }, 'change the vault’s passphrase'],
    [{ command: 'resume' }, 'resume all access'],
  ] as const)('says of %s what the command wants', (fields, wanted) => {
    const [row] = menuRows({ ...fine, questions: [{ ...question('command'), ...fields }] });
    expect(row).toMatchObject({ action: { type: 'card', id: 'q1' } });
    expect(labels(row ? [row] : [])[0]).toBe(`A command wants to ${wanted}`);
  });

  it('offers a new sign-in under each server, beside its issuer', () => {
    const group = menuRows(fine)[0];
    expect(group).toMatchObject({
      kind: 'group',
      rows: [
        { kind: 'text', label: '"login.example"' },
        { label: 'Sign in again', action: { type: 'signIn', server: 'https://notes.example/mcp' } },
      ],
    });
  });

  it('says so where there is no server', () => {
    expect(labels(menuRows({ ...fine, servers: [] }))[0]).toBe('No servers yet');
  });

  it('offers to lock what is open, and to unlock what is locked', () => {
    const offered = (isLocked: boolean): string[] =>
      labels(menuRows({ ...fine, isLocked })).filter((label) => /lock$/i.test(label));
    expect(offered(false)).toEqual(['Lock']);
    expect(offered(true)).toEqual(['Unlock']);
  });

  it('quotes, bounds and disarms what programs and servers chose', () => {
    const hostile = `<b>&File\u202e${'x'.repeat(10_000)}`;
    const rows = menuRows({ ...fine, questions: [{ ...question('allow'), client: hostile }] });
    const [label = ''] = labels(rows);
    expect(label.length).toBeLessThan(200);
    expect(label).toContain('&&File');
    expect(label).toContain('\\u202e');
    expect(label).not.toContain('\u202e');
  });
});

describe('news', () => {
  it('are questions that were not there, and servers that were signed out since', () => {
    const before = { ...fine, questions: [question('allow')], servers: [server('active')] };
    const after = {
      ...fine,
      questions: [question('allow'), question('pair', 'q2')],
      servers: [server('loginRequired'), server('loginRequired', 'https://new.example')],
    };
    const news = changesSince(before, after);
    expect(news.questions.map(({ id }) => id)).toEqual(['q2']);
    expect(news.signedOut.map(({ id }) => id)).toEqual(['https://notes.example/mcp']);
    expect(changesSince(after, after)).toEqual({ questions: [], signedOut: [] });
  });
});
