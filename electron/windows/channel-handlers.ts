/**
 * What the windows' requests do: most go to the broker as they are, the rest is this app's own.
 *
 * Invariant: a request that widens access passes the window's guard first. Params have
 * passed the channel's schema. The address of a proxy goes to the clipboard and to no window.
 */
import { KeyturnError, reasonOf } from '../../src/base/errors.ts';
import type { InProcessOwner, OwnersMethod } from '../../src/daemon/methods/dispatch.ts';
import { alwaysWidens, isMethod, isWidening, methods } from '../../src/ipc/protocol/methods.ts';
import { channels, type ChannelName, type ShownPreferences } from '../bridge/channels.ts';
import type { WindowHandlers } from './ipc.ts';
import type { ClientSetup } from './client-setup.ts';
import type { LoginItem } from '../system/login-item.ts';
import type { PreferenceFile } from '../system/preferences.ts';
import { locksWithScreen, type ScreenLock } from '../system/screen-lock.ts';
import type { SignInPages } from './sign-in-pages.ts';
import { cardOf, isCard, type Question } from '../base/summary.ts';
import { startSignIn } from './own-client.ts';
import type { AppWindow, Windows } from './windows.ts';

export interface HandlerParts {
  readonly owner: Pick<InProcessOwner, 'call' | 'allowCommand' | 'widens'>;
  readonly clientSetup: Pick<ClientSetup, 'look' | 'apply' | 'undo'>;
  readonly preferences: PreferenceFile;
  readonly loginItem: LoginItem;
  readonly windows: Pick<Windows, 'fitCard' | 'noteAnswer'>;
  readonly screenLock: Pick<ScreenLock, 'state'>;
  readonly signInPages: SignInPages;
  /** Puts a text on the clipboard. */
  readonly copy: (text: string) => Promise<void>;
  readonly exportAudit: (
    window: AppWindow,
    format: 'jsonl' | 'csv',
  ) => Promise<{ readonly rows?: number; readonly skipped?: number }>;
  /** Starts the app again, with its window. */
  readonly restart: () => void;
  /** Preferences changed. */
  readonly preferencesChanged: () => void;
}

/** A channel's params as its schema made them. */
type Params<C extends ChannelName> = (typeof channels)[C]['params']['_zod']['output'];

type Handlers = {
  readonly [C in ChannelName]?: (window: AppWindow, params: Params<C>) => unknown;
};

/**
 * Channels of this app's own that need a press: `proxy.copy` and `text.copy` leave a text where the user pastes, and a
 * hostile page could plant a command there at any moment. For the broker's methods their rows say what widens.
 */
const pressedHere: ReadonlySet<ChannelName> = new Set<ChannelName>([
  'proxy.copy',
  'vault.useFile',
  'text.copy',
  'setup.apply',
  'setup.undo',
]);

/** Whatever its params are. */
const needsPress = (channel: ChannelName): boolean =>
  pressedHere.has(channel) || (isMethod(channel) && alwaysWidens(channel));

export function channelHandlers(parts: HandlerParts): WindowHandlers {
  const special = { ...appHandlers(parts), ...guardedHandlers(parts) };
  return (window) => async (channel, params) => {
    window.updateGuard();
    if (needsPress(channel)) window.guard.approve();
    // The table binds each name to a handler of its own params; the compiler can't follow the lookup.
    const handler = special[channel] as ((window: AppWindow, params: unknown) => unknown) | undefined;
    return handler ? handler(window, params) : toBroker(parts, window, channel, params);
  };
}

async function toBroker(
  { owner }: HandlerParts,
  { guard }: AppWindow,
  channel: ChannelName,
  params: unknown,
): Promise<unknown> {
  // Every channel without a handler of its own is a method of the owner's.
  const method = channel as OwnersMethod;
  if (isWidening(method) && !alwaysWidens(method) && (await owner.widens(method, params))) guard.approve();
  return owner.call(method, params);
}

/** What the broker knows nothing of. */
function appHandlers(parts: HandlerParts): Handlers {
  const { owner, clientSetup, preferences, loginItem, screenLock, windows } = parts;
  const shownPreferences = async (): Promise<ShownPreferences> => ({
    ...preferences.choices(),
    lockWithScreen: await locksWithScreen(owner),
    openAtLogin: await loginItem.isOn(),
    screenLock: screenLock.state,
  });
  return {
    'audit.export': (window, { format }) => parts.exportAudit(window, format),
    'card.shown': ({ guard }, { ids }) => {
      guard.cardShown(ids);
      return {};
    },
    'card.fit': (window, { height }) => {
      windows.fitCard(window, height);
      return {};
    },
    'text.copy': async (_window, { text }) => {
      await parts.copy(text);
      return {};
    },
    'proxy.copy': async (_window, { proxy }) => {
      const { proxies } = methods['proxy.list'].result.parse(await owner.call('proxy.list', {}));
      const found = proxies.find(({ id, name }) => id === proxy || name === proxy);
      if (!found) throw new KeyturnError('not_found', 'This proxy is no longer there.');
      await parts.copy(found.url);
      return {};
    },
    'vault.useFile': async () => {
      // A file that the keychain opens would be no help.
      await owner.call('settings.set', { name: 'vaultKey', value: 'passphrase' });
      await owner.call('settings.set', { name: 'vault', value: 'sealed-file' });
      parts.restart();
      return {};
    },
    'setup.look': () => clientSetup.look(),
    'setup.apply': (_window, params) => clientSetup.apply(params),
    'setup.undo': () => clientSetup.undo(),
    'preferences.get': shownPreferences,
    'preferences.set': async ({ guard }, { openAtLogin, lockWithScreen, ...choices }) => {
      // The vault would stay open behind a locked screen: no page decides that by itself.
      if (lockWithScreen === false && (await locksWithScreen(owner))) guard.approve();
      if (lockWithScreen !== undefined)
        await owner.call('settings.set', { name: 'lockWithScreen', value: lockWithScreen });
      // The system remembers it, so it works where our own file can't be read.
      if (openAtLogin !== undefined) await loginItem.set(openAtLogin);
      if (Object.values(choices).some((choice) => choice !== undefined)) preferences.choose(choices);
      parts.preferencesChanged();
      return shownPreferences();
    },
  };
}

/** What the user said yes to may open one page of that server, without another press. */
function leadsToPage({ kind, command, method, apiKey: key }: Partial<Question> = {}): boolean {
  return (kind === 'allow' && !key) || (kind === 'command' && command === 'signIn' && method === 'browser');
}

type Answer = Params<'request.answer'>;

/** Each id’s question; undefined where it is no longer open. */
async function findQuestions(
  owner: HandlerParts['owner'],
  ids: readonly string[],
): Promise<(Question | undefined)[]> {
  const { requests } = methods['request.list'].result.parse(await owner.call('request.list', {}));
  return ids.map((wanted) => requests.find(({ id }) => id === wanted));
}

/** An approval has passed the guard. */
async function answerQuestion(
  { owner, signInPages }: HandlerParts,
  params: Answer,
  question: Question | undefined,
): Promise<unknown> {
  if (params.answer !== 'approve') return owner.call('request.answer', params);
  // The broker takes any answer to a sign-in for "call it off"; an approval is about its page.
  if (question?.url !== undefined && !isCard(question)) {
    await signInPages.open(params.id);
    return {};
  }
  // The broker opens it after this yes.
  if (question?.kind === 'url') signInPages.allowAddress(question.url ?? '');
  const answer = await owner.call('request.answer', params);
  // A command's permission leads to no page: no program waits for a token.
  if (leadsToPage(question)) signInPages.allowPage(question?.resource ?? '');
  return answer;
}

/**
 * Answers each question of one card. One that ended meanwhile needs no answer. Throws the first refusal of another
 * kind, once all were answered; or that no question is left.
 */
async function answerCard(
  parts: HandlerParts,
  { guard }: AppWindow,
  answers: readonly Answer[],
): Promise<void> {
  const allowed = answers.filter(({ answer }) => answer === 'approve').map(({ id }) => id);
  if (allowed.length > 0) guard.approveCard(allowed);
  const ids = answers.map(({ id }) => id);
  const questions = await findQuestions(parts.owner, ids);
  const [card, ...others] = new Set(questions.flatMap((question) => (question ? [cardOf(question)] : [])));
  if (others.length > 0) throw severalCards();
  if (card !== undefined && answers.some(({ answer }) => answer !== 'deny')) parts.windows.noteAnswer(card);
  const settled = await Promise.allSettled(
    answers.map((answer, at) => answerQuestion(parts, answer, questions[at])),
  );
  const refusals = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  const [refusal] = refusals.filter((error) => reasonOf(error) !== 'not_found');
  if (refusal !== undefined) throw refusal;
  if (refusals.length === answers.length) throw refusals[0];
}

function severalCards(): KeyturnError {
  return new KeyturnError('invalid_request', 'These requests are not on one card.', {
    rule: 'one press answers one card, and a card has the requests of one run of an app',
    hint: 'Answer each card separately.',
  });
}

/** What asks the guard itself, and what a click may open a page for. */
function guardedHandlers(parts: HandlerParts): Handlers {
  const { owner, signInPages, windows } = parts;
  return {
    'request.answer': async ({ guard }, params) => {
      if (params.answer === 'approve') guard.approveCard([params.id]);
      const [question] = await findQuestions(owner, [params.id]);
      // Said first: the broker tells that the question is over before it answers us. After a denial that is
      // remembered the window stays: it offers to undo it.
      if (params.answer !== 'deny' || question?.kind !== 'allow')
        windows.noteAnswer(
          question ? cardOf(question) : params.id,
          params.answer === 'approve' && question?.kind === 'pair',
        );
      return answerQuestion(parts, params, question);
    },
    'card.answer': async (window, { answers }) => {
      await answerCard(parts, window, answers);
      return {};
    },
    'permission.set': async ({ guard }, params) => {
      if (await owner.widens('permission.set', params)) {
        guard.approve();
        signInPages.allowPage(params.resource);
      }
      return owner.call('permission.set', params);
    },
    'home.allowCommand': async ({ guard }, { isAllowed }) => {
      if (isAllowed) guard.approve();
      await owner.allowCommand(isAllowed);
      return {};
    },
    'signIn.start': async (_window, params) => {
      // An equal one that waits is joined, and has no page to come.
      await signInPages.reopen(params);
      return startSignIn(owner, params, (request) =>
        signInPages.withPage(params.resource, () => owner.call('signIn.start', request)),
      );
    },
    'signIn.answer': async ({ guard }, params) => {
      if (params.isErrorPage !== true) return owner.call('signIn.answer', params);
      // A client is registered, and another page of that server opens.
      guard.approve();
      // Looked up first: the answer ends it.
      const [question] = await findQuestions(owner, [params.id]);
      const answer = await owner.call('signIn.answer', params);
      signInPages.allowPage(question?.resource ?? '');
      return answer;
    },
  };
}
