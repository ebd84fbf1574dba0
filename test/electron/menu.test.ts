/** What the tray and the menu of the windows show for each state, and the words in them. */
import { describe, expect, it } from 'vitest';
import { Notifications } from '../../electron/tray/notifications.ts';
import { inNotification } from '../../electron/base/words.ts';
import { double } from '../support/electron/electron-double.ts';
import { signInOf } from '../support/states/lists.ts';
import { type MenuRow, menuRows, type MenuState } from '../../electron/tray/menu.ts';
import { changesSince, type Question, type Server, trayShape } from '../../electron/base/summary.ts';
import { applicationMenu } from '../../electron/windows/application-menu.ts';

const server = (state: string, endpoint = 'https://notes.example/mcp'): Server =>
  signInOf({ id: endpoint, resource: endpoint, endpoint, state });

const question = (kind: Question['kind'], id = 'q1'): Question => ({
  id,
  kind,
  app: 'editor',
  resource: 'https://notes.example/mcp',
  issuer: 'https://login.example',
  createdAt: 0,
  state: 'open',
});

const fine: MenuState = {
  questions: [],
  servers: [server('active')],
  isLocked: false,
  isVaultFailed: false,
  rows: [],
  isOnline: true,
  needsPassphrase: false,
  startsAtLogin: false,
};

const labels = (rows: readonly MenuRow[]): string[] => rows.map((row) => ('label' in row ? row.label : '-'));

/** On a desktop that shows them; `lines`: what is logged. */
function notifications(lines: string[] = []): Notifications {
  double.reset();
  double.isReady = true;
  return new Notifications(
    () => undefined,
    (line) => lines.push(line),
  );
}

it('the icon shows one of them for each state', () => {
  const shown = ['active', 'signInRequired'].map((state) => trayShape({ ...fine, servers: [server(state)] }));
  expect([
    ...shown,
    trayShape({ ...fine, pause: { since: 1 } }),
    trayShape({ ...fine, isLocked: true }),
    trayShape({ ...fine, isVaultFailed: true }),
  ]).toEqual(['fine', 'trouble', 'held', 'held', 'trouble']);
});

describe('a notification', () => {
  it('closes with the app; one that the system refuses is logged', async () => {
    const lines: string[] = [];
    const shown = notifications(lines);
    const news = { cards: [], signedOut: [server('signInRequired')] };
    shown.show(news);
    expect(double.notifications).toHaveLength(1);
    shown.close();
    expect([double.notifications, lines]).toEqual([[], []]);
    double.showsNotifications = 'fails';
    shown.show(news);
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(lines).toEqual(['app: the system did not show a notification']);
  });

  it('has nothing in it that a desktop reads as markup', () => {
    const text = '"<a href=x>&amp;" asks';
    expect(inNotification(text, 'linux')).toBe('"‹a href=x›＆amp;" asks');
    expect(inNotification(text, 'win32')).toBe(text);
    const shown = notifications();
    const asked = { ...question('pair'), app: '<b>editor</b>' };
    shown.show({ cards: [{ id: asked.id, questions: [asked] }], signedOut: [] });
    const [{ options } = {}] = double.notifications;
    expect(options?.body).toBe(inNotification('“<b>editor</b>” wants to connect'));
    // Windows keeps it in the Action Center after that.
    double.notifications[0]?.emit('close', { reason: 'timedOut' });
    // It waits as long as its question.
    expect(options?.timeoutType).toBe('never');
    shown.keepOnly([]);
    expect(double.notifications).toEqual([]);
  });
});

describe('the menu', () => {
  it('has questions first, then signed-out servers, then the rest', () => {
    const rows = menuRows({
      ...fine,
      questions: [question('allow'), question('pair', 'q2'), question('signIn', 'q3')],
      servers: [server('active'), server('signInRequired', 'https://mail.example')],
    });
    expect(labels(rows)).toEqual([
      'editor wants access to notes.example/mcp',
      'editor wants to connect',
      'Sign in to notes.example/mcp at login.example',
      '-',
      'mail.example: sign-in required',
      'notes.example/mcp: signed in',
      '-',
      'Recent activity',
      'Pause all access',
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
    expect(JSON.stringify(rows)).not.toMatch(/"approve"|allow/);
  });

  it.each([
    [{ command: 'allow' }, 'give editor access to notes.example/mcp'],
    [{ command: 'endDenial' }, 'undo the denial of editor at notes.example/mcp'],
    [{ command: 'oauthClient' }, 'add an OAuth client for login.example'],
    [{ command: 'signIn' }, 'sign in to notes.example/mcp'],
    [
      { command: 'exception', server: 'https://notes.example/mcp' },
      'add a security exception for notes.example/mcp',
    ],
    [{ command: 'settings', setting: { name: 'browser' } }, 'change the setting browser'],
    [{ command: 'unlock' }, 'unlock Keyturn'],
    [{ command: 'passphrase' }, 'change Keyturn’s passphrase'],
    [{ command: 'resume' }, 'resume all access'],
  ] as const)('says of %s what the command wants', (fields, wanted) => {
    const [row] = menuRows({ ...fine, questions: [{ ...question('command'), ...fields }] });
    expect(row).toMatchObject({ action: { type: 'card', id: 'q1' } });
    expect(labels(row ? [row] : [])[0]).toBe(`A command wants to ${wanted}`);
  });

  it('pauses for an hour or for good, and leaves resuming to the window', () => {
    const groupOf = (state: MenuState): MenuRow | undefined =>
      menuRows(state).find((row) => 'label' in row && /pause/i.test(row.label));
    expect(groupOf(fine)).toMatchObject({
      rows: [
        { label: 'For 1 hour', action: { type: 'pause', seconds: 3600 } },
        { label: 'Until I resume', action: { type: 'pause' } },
      ],
    });
    const paused = menuRows({ ...fine, pause: { since: 1 } });
    const at = paused.findIndex(
      (row) => 'label' in row && row.label === 'All access is paused until you resume',
    );
    expect(paused[at]).toMatchObject({ kind: 'text' });
    expect(paused[at + 1]).toMatchObject({ label: 'Resume…', action: { type: 'open' } });
  });

  it('shows what happened last, the newest first, and of each only who and where', () => {
    const row = (event: string, more: object = {}) => ({ event, time: 1, outcome: 'ok', ...more });
    const client = 'editor';
    const endpoint = 'https://notes.example/mcp';
    const rows = [
      row('token', { app: client, endpoint, count: 3 }),
      row('refresh', { endpoint }),
      row('refused', { app: 'a & b', endpoint, outcome: 'paused' }),
      row('apiKey', { app: client, endpoint, outcome: 'given' }),
      row('signIn', { endpoint, outcome: 'new' }),
      row('pause', { outcome: 'resumed' }),
    ];
    const recent = menuRows({ ...fine, rows }).find(
      (one) => 'label' in one && one.label === 'Recent activity',
    );
    const told = recent?.kind === 'group' ? labels(recent.rows) : [];
    expect(told.map((label) => label.split('  ')[1])).toEqual([
      'editor got access to notes.example/mcp (3 times)',
      '“a && b” was refused at notes.example/mcp',
      'editor got the API key for notes.example/mcp',
      'Signed in to notes.example/mcp',
      'You resumed all access',
    ]);
    const empty = menuRows(fine).find((one) => 'label' in one && one.label === 'Recent activity');
    expect(empty).toMatchObject({ rows: [{ kind: 'text', label: 'Nothing yet' }] });
  });

  it('quotes, bounds and disarms what programs and servers chose', () => {
    const hostile = `<b>&File\u202e${'x'.repeat(10_000)}`;
    const rows = menuRows({ ...fine, questions: [{ ...question('allow'), app: hostile }] });
    const [label = ''] = labels(rows);
    expect(label.length).toBeLessThan(200);
    expect(label).toContain('&&File');
    expect(label).toContain('\\u{202e}');
    expect(label).toMatch(/^“.*…” wants access/);
    expect(label).not.toContain('\u202e');
  });
});

const [first, second] = [question('allow'), question('allow', 'q2')];
const several = [
  { ...first, card: 'q1' },
  { ...second, card: 'q1', resource: 'https://other.example' },
];

it('several questions of one card are one row and one notification, with the number of servers', () => {
  const both = 'editor wants access to 2 servers';
  const [row] = menuRows({ ...fine, questions: several });
  expect(row).toMatchObject({ label: both, action: { type: 'card', id: 'q1' } });
  const shown = notifications();
  shown.show(changesSince(fine, { ...fine, questions: several.slice(0, 1) }));
  expect(double.notifications.map(({ options }) => options.body)).toEqual([
    'editor wants access to notes.example/mcp',
  ]);
  shown.show(changesSince({ ...fine, questions: several.slice(0, 1) }, { ...fine, questions: several }));
  expect(double.notifications.map(({ options }) => options.body)).toEqual([both]);
  shown.keepOnly(several.slice(1));
  expect(double.notifications).toHaveLength(1);
  shown.keepOnly([]);
  expect(double.notifications).toEqual([]);
});

it('closes a window, quits the app, changes the text size, and has no tools', () => {
  const file = {
    label: 'File',
    submenu: [
      { role: 'close', label: 'Close window', accelerator: 'CommandOrControl+W' },
      { role: 'quit', label: 'Quit Keyturn', accelerator: 'CommandOrControl+Q' },
    ],
  };
  const view = {
    label: 'View',
    submenu: [
      { role: 'zoomIn', label: 'Larger' },
      { role: 'zoomOut', label: 'Smaller' },
      { role: 'resetZoom', label: 'Actual size' },
    ],
  };
  for (const platform of ['linux', 'win32'] as const) expect(applicationMenu(platform)).toEqual([file, view]);
});
