/**
 * Every state of the windows, invented: for the pictures (`npm run screenshots`) and the tests of their layout. An
 * address, the broker's answers and presses lead to it.
 *
 * Invariant: a state needs no other, so that each can be opened in a page that showed another one before.
 */
import type { ChannelName, Envelope } from '../../../electron/bridge/channels.ts';
import type { window as english } from '../../../words/en/window.ts';
import type { Answer } from '../electron/window-page.ts';
import { ago, ahead, exampleAnswer, exampleQuestions, exampleStatus, hour } from '../homes/example-desk.ts';
import { empty, forward, long, many, refusal, troubled, vault, waiting, withStatus, wrong } from './lists.ts';
import { exampleLook } from '../homes/example-setup.ts';
import type { Lists } from './lists.ts';
import { longBreath, oneBreath, questions } from './questions.ts';

/** A selector, or the name of a button: an ICU message whose arguments fit any text. */
export type Pressed = string | ((words: typeof english) => string);

export interface WindowState {
  readonly name: string;
  /** The part of the address after `#`. */
  readonly hash: string;
  /** Selector of what is there once it is read. */
  readonly sign: string;
  /** In place of what the example desk answers. No schema checks it, so texts may be longer than the wire's. */
  readonly lists?: Lists;
  /** Calls that are refused. */
  readonly refused?: readonly ChannelName[];
  /** What is typed into a field (by selector) and what is pressed, in this order; before the sign is there. */
  readonly type?: readonly (readonly [field: string, text: string])[];
  readonly press?: readonly Pressed[];
  /** Letters of twice the size. */
  readonly isLarge?: boolean;
}

/**
 * True for a state that has the same parts as another one: with longer or larger texts, or with other words. Only the
 * soak looks at it.
 */
export const isVariant = ({ name }: WindowState): boolean =>
  /-(?:long|large)$|^(?:card-command-|vault-|server-trouble-[2-7]|card-allow-[aeu])/.test(name);

/** Each view, as it is opened: its address and its sign. */
const views = {
  overview: '.node',
  servers: '.pick',
  apps: '.pick',
  activity: '.entry',
  settings: '#app-title',
  'settings/security': '#vault-title',
  'settings/providers': '#registered-title',
  'settings/advanced': '#broker-title',
} as const;

const inEachView = (suffix: string, fields: Partial<WindowState>): readonly WindowState[] =>
  Object.entries(views).map(([hash, sign]) => ({
    name: `${hash.replace('/', '-')}${suffix}`,
    hash,
    sign,
    ...fields,
  }));

const [passphraseVault] = [{ vault: 'sealed-file', vaultOpenedBy: 'passphrase' }] as const;
const emptyHome = { homeState: { ...exampleStatus.homeState, hasOpenedVault: false } };
const { allow, pair, url, command } = exampleQuestions;

/** Name, sign, presses, refused calls. */
type Row = readonly [string, string, WindowState['press']?, WindowState['refused']?];

/** States at one address, over the same lists. */
const statesAt = (hash: string, lists: Lists | undefined, ...rows: readonly Row[]): readonly WindowState[] =>
  rows.map(([name, sign, press, refused]) => ({
    name,
    hash,
    sign,
    ...(lists && { lists }),
    ...(press && { press }),
    ...(refused && { refused }),
  }));

/** The main window's views, in order and out of it. */
const mainStates: readonly WindowState[] = [
  ...inEachView('', {}),
  { name: 'server', hash: 'servers/g1', sign: 'article' },
  { name: 'app', hash: 'apps/c1', sign: 'article' },
  { name: 'app-denied', hash: 'apps/c2', sign: 'article' },
  { name: 'app-idle', hash: 'apps/c3', sign: 'article' },
  { name: 'activity-nothing-matches', hash: 'activity/nobody', sign: '#view h2' },
  ...inEachView('-empty', { lists: empty, sign: '#view h2' }),
  ...inEachView('-long', { lists: { ...long, ...wrong }, sign: '#view h2' }),
  ...inEachView('-refused', {
    sign: '.refused',
    refused: [
      'signIn.list',
      'app.list',
      'audit.tail',
      'audit.activity',
      'oauthClient.list',
      'settings.get',
      'status',
      'apiKey.list',
      'preferences.get',
    ],
  }),
  { name: 'server-long', hash: 'servers/g1', sign: 'article', lists: long },
  ...many(7).map((at) => ({
    name: `server-trouble-${at + 1}`,
    hash: `servers/g${at + 1}`,
    sign: 'article',
    lists: troubled,
  })),
  ...statesAt(
    'apps',
    forward,
    ['apps-forwards', '#forwards-title'],
    ['end-forward', 'dialog', [({ forwards }) => forwards.endOf]],
  ),
  { name: 'app-command', hash: 'apps/c1', sign: 'article', lists: troubled },
  { name: 'app-long', hash: 'apps/c1', sign: 'article', lists: long },
  ...statesAt('servers', withStatus({ pause: { since: ago(60), until: ahead(hour) } }), [
    'paused',
    '.banner',
  ]),
  ...statesAt('settings/security', withStatus({ pause: { since: ago(60) } }), ['paused-for-good', '.banner']),
  ...(['new', 'locked', 'keychainLocked', 'waiting', 'absent', 'crashed', 'full', 'damaged'] as const).map(
    (state) => ({
      name: `vault-${state}`,
      hash: 'settings/security',
      sign: '.banner',
      lists: vault(state, state === 'new' || state === 'locked' ? passphraseVault : emptyHome),
    }),
  ),
  ...statesAt('servers', { ...vault('locked'), ...waiting(allow, pair) }, ['waiting', '.waiting']),
  {
    name: 'everything-waits',
    hash: 'servers',
    sign: '.waiting',
    lists: {
      ...waiting(...Object.values(questions).map((question, at) => ({ ...question, id: `q${at}` }))),
      ...withStatus({
        ...passphraseVault,
        vaultState: { state: 'locked', since: ago(60) },
        pause: { since: ago(60) },
      }),
    },
  },
];

const explainButton: Pressed = ({ servers }) => servers.explainAt;
const revokeButton: Pressed = ({ servers }) => servers.revokeAt;
const longCard = questions['allow-long'] ?? allow;
const login = questions['login'] ?? allow;

const firstWaiting = ['.waiting button'];
const searched = { hash: 'servers', sign: 'dialog .search', press: ['.search-button'] };

/** What opens over the main window. States with the same lists stand together: the page needn't be loaded between them. */
const dialogStates: readonly WindowState[] = [
  { name: 'search', ...searched, type: [['dialog input', 'e']] },
  { name: 'search-nothing', ...searched, type: [['dialog input', 'nowhere']] },
  ...statesAt(
    'apps/c1',
    undefined,
    ['manage-access', 'dialog .scopes.choice', [({ apps }) => apps.manageAt]],
    ['remove-app', 'dialog .danger', [({ apps }) => apps.removeApp]],
  ),
  ...statesAt('settings/providers', undefined, [
    'remove-client',
    'dialog .danger.filled',
    [({ registered }) => registered.removeAt],
  ]),
  ...statesAt(
    'settings/advanced',
    undefined,
    ['remove-proxy', 'dialog .danger.filled', [({ proxies }) => proxies.removeOf]],
    ['new-proxy-address', 'dialog', [({ proxies }) => proxies.rotateOf]],
  ),
  ...statesAt('servers', vault('locked', passphraseVault), ['unlock', 'dialog input', ['.banner button']]),
  ...statesAt('servers', vault('new', passphraseVault), [
    'choose-passphrase',
    'dialog input',
    ['.banner button'],
  ]),
  ...statesAt('servers', waiting(allow), ['card-in-main-window', 'dialog .question', firstWaiting]),
  ...statesAt('servers', waiting(longCard), ['long-card-in-main-window', 'dialog .question', firstWaiting]),
  ...statesAt(
    'servers/g1',
    undefined,
    ['explain', 'dialog .timeline', [explainButton]],
    ['explain-refused', 'dialog .refused', [explainButton], ['signIn.show']],
    ['revoke', 'dialog .danger', [revokeButton]],
    ['revoke-refused', 'dialog .refused', [revokeButton, 'dialog button.danger'], ['signIn.revoke']],
  ),
];

const submit = '.question [type=submit]';

/** The window of cards. */
const cardStates: readonly WindowState[] = [
  ...Object.entries(questions).map(([kind, question]) => ({
    name: `card-${kind}`,
    hash: 'card',
    sign: '.question',
    lists: waiting(question),
  })),
  ...(['allow', 'pair', 'login', 'command-register', 'settings'] as const).map((kind) => ({
    name: `card-${kind}-large`,
    hash: 'card',
    sign: '.question',
    lists: waiting(questions[kind] ?? allow),
    isLarge: true,
  })),
  { name: 'card-1-of-4', hash: 'card', sign: '.position', lists: waiting(allow, pair, url, command) },
  ...statesAt(
    'card',
    undefined,
    ['card-nothing', '.empty'],
    ['card-unreadable', '.refused', undefined, ['request.list']],
  ),
  ...statesAt('card', waiting(login), [
    'card-login-refused',
    '.refused',
    ['.question button.danger'],
    ['request.answer'],
  ]),
  ...statesAt(
    'card',
    waiting(allow),
    ['card-without-lists', '.refused', undefined, ['app.list', 'signIn.list']],
    ['card-refused', '.refused', [submit], ['request.answer']],
    ['card-details', 'details[open]', ['.evidence > summary']],
    ['card-dont-ask-again', '.remember :checked', ['.remember input']],
    ['card-none-ticked', '.question', [1, 2, 3].map((n) => `.scopes li:nth-child(${n}) input`)],
  ),
  // What one run of an app asks in one breath.
  ...statesAt('card', waiting(...longBreath), ['card-several-long', '.one-of-several']),
  ...statesAt(
    'card',
    waiting(...oneBreath),
    ['card-several', '.one-of-several'],
    ['card-several-left-out', '.left-out', ['.one-of-several .party-name input']],
    [
      'card-several-none-ticked',
      '.left-out',
      oneBreath.map((_, n) => `.parties > :nth-child(${n + 2}) .party-name input`),
    ],
    ['card-several-refused', '.refused', [submit], ['card.answer']],
  ),
  ...statesAt('servers', waiting(...oneBreath), ['several-in-main-window', 'dialog .question', firstWaiting]),
];

const nextButton = ({ welcome }: typeof english): string => welcome.next;

/** The first run, and the apps on this computer wherever they are connected. */
const setupStates: readonly WindowState[] = [
  ...statesAt('welcome', { 'setup.look': { ...exampleLook, runs: 0 } }, ['welcome', '.setup .client']),
  ...statesAt(
    'welcome',
    undefined,
    ['welcome-server', '.step input', [nextButton]],
    ['welcome-login', '.step .toggle', [nextButton, nextButton]],
    ['welcome-change', '.setup details[open] .change', ['.setup summary']],
  ),
  ...statesAt('welcome', { 'setup.look': { look: 'look', runs: 0, clients: [] } }, [
    'welcome-no-command',
    '.setup .copy',
  ]),
  {
    name: 'apps-connected',
    hash: 'apps',
    sign: '.setup .notice.info',
    press: [({ setup }) => setup.open, '.setup button.primary'],
    lists: {
      'setup.apply': {
        results: [
          {
            file: '/home/anna/.cursor/mcp.json',
            entry: 'notes',
            outcome: 'switched',
            endpoint: 'https://notes.example/mcp',
            secret: 'vault',
            exposed: 'X-Api-Key',
          },
          {
            file: '/home/anna/.cursor/mcp.json',
            entry: 'mail',
            outcome: 'left',
            endpoint: 'https://mail.example/mcp',
            why: 'the file has changed in the meantime. Try again',
          },
        ],
      },
    },
  },
];

export const windowStates: WindowState[] = [...mainStates, ...dialogStates, ...setupStates, ...cardStates];

/** A card's window, and no view with tabs. */
export const isCardState = ({ hash }: WindowState): boolean => hash.split('/')[0] === 'card';

/** Answers a window in this state. */
export function answerIn({ lists = {}, refused = [] }: Pick<WindowState, 'lists' | 'refused'>): Answer {
  const example = exampleAnswer();
  const known: Readonly<Record<string, unknown>> = lists;
  return async (channel, params): Promise<Envelope<unknown>> => {
    if (refused.some((name) => name === channel)) return { ok: false, refusal };
    const value = typeof channel === 'string' ? known[channel] : undefined;
    return value === undefined ? example(channel, params) : { ok: true, value };
  };
}
