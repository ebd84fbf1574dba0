/**
 * Every state of the windows that a person can meet, in one list: the pictures (`npm run screenshots`) and the tests
 * of their layout go through it. What they show is written down and invented; a state is reached by its
 * address, by what the broker answers, and by what somebody presses.
 *
 * Invariant: a state stands by itself, so that each can be opened in a page that showed another one before.
 */
import type { ChannelName, Envelope } from '../../../electron/bridge/channels.ts';
import type { window as english } from '../../../words/en/window.ts';
import type { Answer } from '../electron/window-page.ts';
import { exampleAnswer, exampleQuestions, exampleStatus } from '../homes/example-desk.ts';
import {
  ago,
  ahead,
  empty,
  forwarding,
  hour,
  long,
  many,
  refusal,
  troubled,
  vault,
  waiting,
  withStatus,
  wrong,
} from './lists.ts';
import { exampleLook } from '../homes/example-setup.ts';
import type { Lists } from './lists.ts';
import { questions } from './questions.ts';
import { severalStates } from './several.ts';

/** A selector, or the name of a button: an ICU message whose arguments fit any text. */
export type Pressed = string | ((words: typeof english) => string);

export interface DeskState {
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
export const isVariant = ({ name }: DeskState): boolean =>
  /-(?:long|large)$|^(?:card-command-|vault-|server-trouble-[2-7]|card-allow-[aeu])/.test(name);

/** Each view, as it is opened: its address and its sign. */
const views = {
  overview: '.node',
  servers: '.pick',
  programs: '.pick',
  activity: '.entry',
  settings: '#app-title',
  'settings/security': '#vault-title',
  'settings/providers': '#registered-title',
  'settings/advanced': '#broker-title',
} as const;

const inEachView = (suffix: string, fields: Partial<DeskState>): readonly DeskState[] =>
  Object.entries(views).map(([hash, sign]) => ({
    name: `${hash.replace('/', '-')}${suffix}`,
    hash,
    sign,
    ...fields,
  }));

const [passphraseVault] = [{ vault: 'sealed-file', vaultKey: 'passphrase' }] as const;
const emptyHome = { homeState: { ...exampleStatus.homeState, isEmpty: true } };
const { allow, pair, url, command } = exampleQuestions;

/** The main window's views, in order and out of it. */
const mainStates: readonly DeskState[] = [
  ...inEachView('', {}),
  { name: 'server', hash: 'servers/g1', sign: 'article' },
  { name: 'program', hash: 'programs/c1', sign: 'article' },
  { name: 'program-denied', hash: 'programs/c2', sign: 'article' },
  { name: 'program-idle', hash: 'programs/c3', sign: 'article' },
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
  { name: 'programs-forwards', hash: 'programs', sign: '#forwards-title', lists: forwarding },
  {
    name: 'end-forward',
    hash: 'programs',
    sign: 'dialog',
    lists: forwarding,
    press: [({ forwards }) => forwards.endOf],
  },
  { name: 'program-command', hash: 'programs/c1', sign: 'article', lists: troubled },
  { name: 'program-long', hash: 'programs/c1', sign: 'article', lists: long },
  {
    name: 'paused',
    hash: 'servers',
    sign: '.banner',
    lists: withStatus({ pause: { since: ago(60), until: ahead(hour) } }),
  },
  {
    name: 'paused-for-good',
    hash: 'settings/security',
    sign: '.banner',
    lists: withStatus({ pause: { since: ago(60) } }),
  },
  ...(['new', 'locked', 'keychainLocked', 'waiting', 'absent', 'crashed', 'full', 'damaged'] as const).map(
    (state) => ({
      name: `vault-${state}`,
      hash: 'settings/security',
      sign: '.banner',
      lists: vault(state, state === 'new' || state === 'locked' ? passphraseVault : emptyHome),
    }),
  ),
  {
    name: 'waiting',
    hash: 'servers',
    sign: '.waiting',
    lists: { ...vault('locked'), ...waiting(allow, pair) },
  },
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
const manageButton: Pressed = ({ programs }) => programs.manageAt;

/** What opens over the main window. States with the same lists stand together: the page needn't be loaded between them. */
const dialogStates: readonly DeskState[] = [
  {
    name: 'search',
    hash: 'servers',
    sign: 'dialog .search',
    press: ['.search-button'],
    type: [['dialog input', 'e']],
  },
  {
    name: 'search-nothing',
    hash: 'servers',
    sign: 'dialog .search',
    press: ['.search-button'],
    type: [['dialog input', 'nowhere']],
  },
  {
    name: 'manage-access',
    hash: 'programs/c1',
    sign: 'dialog .scopes.choice',
    press: [manageButton],
  },
  {
    name: 'remove-program',
    hash: 'programs/c1',
    sign: 'dialog .danger',
    press: [({ programs }) => programs.removeProgram],
  },
  {
    name: 'remove-client',
    hash: 'settings/providers',
    sign: 'dialog .danger.filled',
    press: [({ registered }) => registered.removeAt],
  },
  {
    name: 'remove-proxy',
    hash: 'settings/advanced',
    sign: 'dialog .danger.filled',
    press: [({ proxies }) => proxies.removeOf],
  },
  {
    name: 'new-proxy-address',
    hash: 'settings/advanced',
    sign: 'dialog',
    press: [({ proxies }) => proxies.rotateOf],
  },
  {
    name: 'unlock',
    hash: 'servers',
    sign: 'dialog input',
    press: ['.banner button'],
    lists: vault('locked', passphraseVault),
  },
  {
    name: 'choose-passphrase',
    hash: 'servers',
    sign: 'dialog input',
    press: ['.banner button'],
    lists: vault('new', passphraseVault),
  },
  {
    name: 'card-in-main-window',
    hash: 'servers',
    sign: 'dialog .question',
    press: ['.waiting button'],
    lists: waiting(allow),
  },
  {
    name: 'long-card-in-main-window',
    hash: 'servers',
    sign: 'dialog .question',
    press: ['.waiting button'],
    lists: waiting(questions['allow-long'] ?? allow),
  },
  { name: 'explain', hash: 'servers/g1', sign: 'dialog .timeline', press: [explainButton] },
  {
    name: 'explain-refused',
    hash: 'servers/g1',
    sign: 'dialog .refused',
    press: [explainButton],
    refused: ['signIn.show'],
  },
  { name: 'revoke', hash: 'servers/g1', sign: 'dialog .danger', press: [revokeButton] },
  {
    name: 'revoke-refused',
    hash: 'servers/g1',
    sign: 'dialog .refused',
    press: [revokeButton, 'dialog button.danger'],
    refused: ['signIn.revoke'],
  },
];

/** The window of cards. */
const cardStates: readonly DeskState[] = [
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
  ...severalStates,
  { name: 'card-nothing', hash: 'card', sign: '.empty' },
  { name: 'card-unreadable', hash: 'card', sign: '.refused', refused: ['request.list'] },
  {
    name: 'card-without-lists',
    hash: 'card',
    sign: '.refused',
    lists: waiting(allow),
    refused: ['app.list', 'signIn.list'],
  },
  {
    name: 'card-refused',
    hash: 'card',
    sign: '.refused',
    press: ['.question [type=submit]'],
    lists: waiting(allow),
    refused: ['request.answer'],
  },
  {
    name: 'card-login-refused',
    hash: 'card',
    sign: '.refused',
    press: ['.question button.danger'],
    lists: waiting(questions['login'] ?? allow),
    refused: ['request.answer'],
  },
  {
    name: 'card-details',
    hash: 'card',
    sign: 'details[open]',
    press: ['.evidence > summary'],
    lists: waiting(allow),
  },
  {
    name: 'card-dont-ask-again',
    hash: 'card',
    sign: '.remember :checked',
    press: ['.remember input'],
    lists: waiting(allow),
  },
  {
    name: 'card-none-ticked',
    hash: 'card',
    sign: '.question',
    press: [
      '.scopes li:nth-child(1) input',
      '.scopes li:nth-child(2) input',
      '.scopes li:nth-child(3) input',
    ],
    lists: waiting(allow),
  },
];

const nextButton = ({ welcome }: typeof english): string => welcome.next;

/** The first run, and the apps on this computer wherever they are connected. */
const setupStates: readonly DeskState[] = [
  {
    name: 'welcome',
    hash: 'welcome',
    sign: '.setup .client',
    lists: { 'setup.look': { ...exampleLook, runs: 0 } },
  },
  { name: 'welcome-server', hash: 'welcome', sign: '.step input', press: [nextButton] },
  { name: 'welcome-login', hash: 'welcome', sign: '.step .toggle', press: [nextButton, nextButton] },
  {
    name: 'welcome-change',
    hash: 'welcome',
    sign: '.setup details[open] .change',
    press: ['.setup summary'],
  },
  {
    name: 'welcome-no-command',
    hash: 'welcome',
    sign: '.setup .copy',
    lists: { 'setup.look': { look: 'look', runs: 0, clients: [] } },
  },
  {
    name: 'programs-connected',
    hash: 'programs',
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

export const deskStates: readonly DeskState[] = [
  ...mainStates,
  ...dialogStates,
  ...setupStates,
  ...cardStates,
];

/** A card's window, and no view with tabs. */
export const isCardState = ({ hash }: DeskState): boolean => hash.split('/')[0] === 'card';

/** Answers a window in this state. */
export function answerIn({ lists = {}, refused = [] }: DeskState): Answer {
  const example = exampleAnswer();
  const known: Readonly<Record<string, unknown>> = lists;
  return async (channel, params): Promise<Envelope<unknown>> => {
    if (refused.some((name) => name === channel)) return { ok: false, refusal };
    const value = typeof channel === 'string' ? known[channel] : undefined;
    return value === undefined ? example(channel, params) : { ok: true, value };
  };
}
