/**
 * A desk to look at, invented: servers, programs, questions and activity.
 *
 * Invariant: every answer passes its channel's schema. The moment is fixed, so that two pictures of it are the same.
 */
import { channels, isChannel } from '../../../electron/bridge/channels.ts';
import type { ChannelName, ResultOn, ShownPreferences } from '../../../electron/bridge/channels.ts';
import type { Answer } from '../electron/window-page.ts';
import { exampleLook } from './example-setup.ts';

/** Seconds since 1970 at which it is looked at: a Tuesday, at twenty-four minutes past ten (UTC). */
export const exampleNow = 1_778_581_440;

/** Seconds by which a window's clock is ahead of this machine's, so that it shows `exampleNow`. */
export const exampleLater = (): number => exampleNow - Math.floor(Date.now() / 1000);

const minute = 60;
export const hour = 60 * minute;
const day = 24 * hour;
export const ago = (seconds: number): number => exampleNow - seconds;
export const ahead = (seconds: number): number => exampleNow + seconds;

type SignIn = ResultOn<'signIn.list'>['signIns'][number];
type Question = ResultOn<'request.list'>['requests'][number];
type Row = ResultOn<'audit.tail'>['rows'][number];

const notes = 'https://notes.example/mcp';
const calendar = 'https://calendar.example/v2';
const tickets = 'https://tickets.example/mcp';
const archive = 'https://archive.example/api';
const login = 'https://login.example';
const accounts = 'https://accounts.calendar.example';

const signIn = (fields: Partial<SignIn> & Pick<SignIn, 'id' | 'endpoint' | 'issuer' | 'scope'>): SignIn => ({
  resource: fields.endpoint,
  account: 'anna@home.example',
  state: 'active',
  exceptions: [],
  apps: [],
  ...fields,
});

export const exampleSignIns: readonly SignIn[] = [
  signIn({
    id: 'g1',
    endpoint: notes,
    issuer: login,
    scope: 'notes:read notes:write offline_access',
    apps: ['Quill', 'notes-backup'],
    expires_at: ahead(42 * minute),
    lastRefreshedAt: ago(18 * minute),
  }),
  signIn({
    id: 'g2',
    endpoint: calendar,
    issuer: accounts,
    account: 'anna',
    scope: 'openid calendar.read',
    apps: ['Quill'],
    state: 'signInRequired',
    why: 'the sign-in provider ended the access',
    lastRefreshedAt: ago(15 * hour),
  }),
  signIn({
    id: 'g3',
    endpoint: tickets,
    issuer: 'https://id.tickets.example',
    scope: 'tickets:list tickets:create',
    apps: ['Helm agent'],
    expires_at: ahead(7 * minute),
    lastRefreshedAt: ago(53 * minute),
    trouble: {
      reason: 'authorization_server_unreachable',
      since: ago(11 * minute),
      nextTryAt: ahead(2 * minute),
    },
  }),
  signIn({
    id: 'g4',
    endpoint: archive,
    issuer: login,
    scope: 'archive:read',
    state: 'revoked',
    receipt: 'pending',
    endedAt: ago(61 * minute),
    nextTryAt: ahead(26 * minute),
    triedUntil: ahead(30 * day - 61 * minute),
    liveUntil: ahead(12 * minute),
    lastRefreshedAt: ago(2 * hour),
  }),
];

const clients: ResultOn<'app.list'>['apps'] = [
  {
    appId: 'c1',
    name: 'Quill',
    pairedAt: ago(64 * day),
    lastUsedAt: ago(4 * minute),
    executable: '/opt/quill/bin/quill',
    file: 'attested',
    permissions: [
      { resource: notes, scope: 'notes:read notes:write', decision: 'allow' },
      { resource: calendar, scope: 'openid calendar.read', decision: 'allow', until: ahead(5 * hour) },
    ],
  },
  {
    appId: 'c2',
    name: 'Helm agent',
    pairedAt: ago(2 * day),
    lastUsedAt: ago(11 * minute),
    executable: '/home/anna/.local/bin/helm-agent',
    file: 'attested',
    permissions: [
      {
        resource: tickets,
        scope: 'tickets:list tickets:create',
        decision: 'allow',
        run: { verified: true, pid: 48_213, executable: '/home/anna/.local/bin/helm-agent' },
      },
      { resource: notes, decision: 'deny' },
    ],
  },
  {
    appId: 'c3',
    name: 'notes-backup',
    pairedAt: ago(212 * day),
    lastUsedAt: ago(118 * day),
    permissions: [{ resource: notes, scope: 'notes:read', decision: 'allow' }],
  },
];

const appProcess = {
  verified: true,
  pid: 48_213,
  executable: '/home/anna/.local/bin/helm-agent',
  file: 'attested',
  changeableBy: 'you',
  enclosures: [{ kind: 'unit', name: 'app-wezterm-4711.scope' }],
  parents: ['zsh', 'wezterm', 'systemd'],
} satisfies Question['appProcess'];

export const exampleQuestions = {
  allow: {
    id: 'allow',
    kind: 'allow',
    app: 'Helm agent',
    appProcess,
    resource: calendar,
    account: 'anna',
    issuer: accounts,
    scope: 'openid calendar.read calendar.write',
    createdAt: ago(20),
    state: 'open',
  },
  pair: {
    id: 'pair',
    kind: 'pair',
    app: 'Ledger',
    appProcess: {
      verified: true,
      pid: 50_118,
      executable: '/opt/ledger/ledger',
      file: 'attested',
      parents: ['bash', 'gnome-terminal'],
    },
    code: '402917',
    createdAt: ago(15),
    state: 'open',
  },
  url: {
    id: 'url',
    kind: 'url',
    app: 'Helm agent',
    appProcess,
    resource: calendar,
    server: 'https://pay.example',
    url: 'https://pay.example/checkout?order=7',
    message: 'Your plan has ended. Choose another one to go on.',
    createdAt: ago(12),
    state: 'open',
  },
  command: {
    id: 'command',
    kind: 'command',
    command: 'allow',
    app: 'notes-backup',
    resource: notes,
    scope: 'notes:read notes:write',
    until: ahead(8 * hour),
    appProcess: {
      verified: true,
      pid: 50_320,
      executable: '/usr/bin/node',
      file: 'interpreter',
      claim: {
        script: '/usr/lib/node_modules/keyturn/bin.js',
        arguments: ['/usr/lib/node_modules/keyturn/bin.js', 'app', 'allow', 'notes-backup', notes],
        isCut: false,
        folder: '/home/anna',
      },
      parents: ['zsh', 'wezterm'],
    },
    createdAt: ago(10),
    state: 'open',
  },
} satisfies Record<string, Question>;

/** Newest last. `minutes` before now. */
const row = (minutes: number, fields: Omit<Row, 'time' | 'event'> & { event: string }): Row => ({
  time: ago(minutes * minute) * 1000,
  outcome: 'ok',
  ...fields,
});

/** A day of requests and refreshes: more while somebody works. */
function dayOfRows(): Row[] {
  const requestsOfHour = [14, 11, 16, 12, 8, 13, 18, 15, 9, 5, 4, 6, 3, 2, 1, 0, 0, 0, 0, 0, 1, 4, 9, 14];
  return requestsOfHour.flatMap((count, at) => {
    const minutes = (24 - at) * 60 - 4;
    const quiet = at > 13 && at < 20;
    return [
      ...(count === 0 ? [] : [row(minutes, { event: 'token', app: 'Quill', endpoint: notes, count })]),
      ...(quiet ? [] : [row(minutes - 20, { event: 'refresh', issuer: login, count: 1 + (at % 3) })]),
    ];
  });
}

const rows: Row[] = [
  ...dayOfRows().filter(({ time }) => time < ago(65 * minute) * 1000),
  row(61, { event: 'revoke', outcome: 'pending', issuer: login, endpoint: archive }),
  row(58, { event: 'permission', outcome: 'deny', app: 'Helm agent', endpoint: notes }),
  row(53, {
    event: 'refresh',
    issuer: 'https://id.tickets.example',
    scope: ['tickets:list', 'tickets:create'],
  }),
  row(47, {
    event: 'permission',
    outcome: 'allow for a run',
    app: 'Helm agent',
    endpoint: tickets,
    scope: ['tickets:list', 'tickets:create'],
  }),
  row(46, { event: 'token', app: 'Helm agent', endpoint: tickets, count: 12 }),
  row(31, { event: 'refused', outcome: 'login_required', app: 'Quill', endpoint: calendar }),
  row(18, { event: 'refresh', issuer: login, scope: ['notes:read', 'notes:write', 'offline_access'] }),
  row(11, {
    event: 'refresh',
    outcome: 'authorization_server_unreachable',
    issuer: 'https://id.tickets.example',
  }),
  row(4, { event: 'token', app: 'Quill', endpoint: notes, count: 9 }),
];

const details: ResultOn<'settings.get'>['details'] = [
  { name: 'vault', value: 'keychain', default: 'keychain', source: 'default', appliesImmediately: false },
  { name: 'lockAfter', value: 3600, source: 'file', appliesImmediately: false },
  { name: 'defaultDuration', value: 'run', default: 'run', source: 'default', appliesImmediately: true },
  { name: 'browser', source: 'default', appliesImmediately: true },
  {
    name: 'clientMetadataUrl',
    value: 'https://anna.example/keyturn.json',
    source: 'file',
    appliesImmediately: false,
  },
  { name: 'logLevel', value: 'info', default: 'info', source: 'default', appliesImmediately: true },
];

const registrations: ResultOn<'oauthClient.list'>['oauthClients'] = [
  {
    issuer: accounts,
    clientId: 'keyturn-on-annas-desk',
    source: 'preregistered',
    authMethod: 'client_secret_basic',
    redirectUri: 'http://127.0.0.1:61742/callback',
    registeredAt: ago(31 * day),
  },
  {
    issuer: 'https://id.tickets.example',
    clientId: 'helm-nightly',
    source: 'preregistered',
    authMethod: 'private_key_jwt',
    grantType: 'client_credentials',
    registeredAt: ago(2 * day),
  },
  {
    issuer: login,
    clientId: 'c7f0a1d2-5b1e-4f0e-9a35-2d8a4f6b9e11',
    source: 'dynamic',
    authMethod: 'none',
    redirectUri: 'http://127.0.0.1:40113/callback',
    registeredAt: ago(240 * day),
  },
];

const settings = Object.fromEntries(
  details.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const])),
);

/** A day at the desk, from eleven to ten: nothing at night, a server that could not be reached in the morning. */
const hours: ResultOn<'audit.activity'>['hours'] = Array.from({ length: 24 }, (_, index) => ({
  at: (Math.floor(exampleNow / hour) - 23 + index) * hour * 1000,
  handedOut:
    index < 11 ? 20 + ((index * 7) % 19) : ([0, 0, 0, 0, 0, 0, 0, 2, 9, 18, 27, 31, 24][index - 11] ?? 0),
  refused: index === 4 || index === 22 ? 3 : 0,
  refreshed: index < 11 || index > 17 ? 2 + (index % 3) : 0,
  failed: index > 20 ? 2 : 0,
}));

/** `share`: of what all programs got together. */
const useOf = (app: string, endpoint: string, last: number, share: number) => ({
  app,
  endpoint,
  last: last * 1000,
  handedOut: hours.map(({ at, handedOut }) => (at > last * 1000 ? 0 : Math.round(handedOut * share))),
});

const uses = [
  useOf('Quill', notes, ago(4 * minute), 0.6),
  useOf('Helm agent', tickets, ago(11 * minute), 0.3),
  useOf('Quill', calendar, ago(15 * hour), 0.1),
];

const explanation: ResultOn<'signIn.show'> = {
  signIns: [
    {
      signIn: exampleSignIns[0] ?? signIn({ id: 'g0', endpoint: notes, issuer: login, scope: '' }),
      signedInAt: ago(240 * day),
      now: 'It is usable; a token is in memory, good until 2026-05-12 11:06 UTC.',
      next: 'Keyturn refreshes it automatically about 2026-05-12 11:01 UTC, because an app uses it.',
      refresh: { by: 'timer', after: ago(-37 * minute) },
      timeline: [
        { at: ago(240 * day), event: 'signIn', outcome: 'ok' },
        { at: ago(64 * day), event: 'permission', outcome: 'allow', app: 'Quill' },
        { at: ago(2 * hour), event: 'refresh', outcome: 'authorization_server_unreachable' },
        { at: ago(118 * minute), event: 'refresh', outcome: 'ok' },
        { at: ago(18 * minute), event: 'refresh', outcome: 'ok' },
        { at: ago(4 * minute), event: 'token', outcome: 'ok', app: 'Quill', count: 9 },
      ],
    },
  ],
};

const proxies: ResultOn<'status'>['proxies'] = [
  { id: 'b7c1', name: 'notes', resource: notes, port: 61_820, state: 'open', lastUsedAt: ago(3 * hour) },
  { id: 'b7c2', name: 'tickets', resource: tickets, port: 61_821, state: 'portTaken' },
];

const status: ResultOn<'status'> = {
  version: '0.2.0',
  pid: 2210,
  home: '/home/anna/.local/state/keyturn',
  vault: 'keychain',
  vaultState: { state: 'open', since: ago(3 * hour) },
  insecureLoopback: false,
  signIns: exampleSignIns.length,
  apiKeys: 0,
  apps: clients.length,
  requests: 0,
  exceptions: [{ server: 'https://id.tickets.example', names: ['no-pkce-metadata'] }],
  proxies,
  forwards: 0,
  unreadable: [],
  homeState: { state: 'checked', approver: 'app', hasOpenedVault: true, isWaiting: false, differing: [] },
  settings,
  log: { level: 'info', file: '/home/anna/.local/state/keyturn/broker.log', ok: true },
  unshielded: [],
  clocks: [{ issuer: accounts, ahead: 94 }],
};

/** Of a home in which nothing is. */
export const emptyStatus: ResultOn<'status'> = {
  ...status,
  signIns: 0,
  apps: 0,
  exceptions: [],
  proxies: [],
  settings: {},
  clocks: [],
};

export const examplePreferences: ShownPreferences = {
  openAtLogin: true,
  notifications: true,
  lockWithScreen: true,
  screenLock: 'listening',
  windowAtLogin: false,
  isWelcomed: true,
};

const answers: { readonly [C in ChannelName]?: ResultOn<C> } = {
  'setup.look': exampleLook,
  'signIn.list': { signIns: [...exampleSignIns] },
  'signIn.show': explanation,
  'app.list': { apps: clients },
  'request.list': { requests: [] },
  'audit.activity': { hours, uses },
  'audit.tail': { rows },
  'apiKey.list': { apiKeys: [] },
  'oauthClient.list': { oauthClients: registrations },
  'settings.get': { settings, details, approver: 'app' },
  'preferences.get': examplePreferences,
  'card.shown': {},
  'card.fit': {},
  status,
};

export const exampleStatus = status;

/** Answers a window; `other` in place of what stands here. */
export function exampleAnswer(other: typeof answers = {}): Answer {
  const known: Readonly<Record<string, unknown>> = { ...answers, ...other };
  return async (channel) => {
    if (!isChannel(channel)) throw new Error('no such channel');
    return { ok: true, value: channels[channel].result.parse(known[channel] ?? {}) };
  };
}
