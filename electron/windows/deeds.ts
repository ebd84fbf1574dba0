/**
 * What the windows' requests do: most go to the broker as they are, the rest is this app's own.
 *
 * Invariant: whatever gives somebody more than they had passes the window's guard first. Params have
 * passed the channel's schema.
 */
import type { InProcessOwner } from '../../src/daemon/in-process-owner.ts';
import { methods } from '../../src/ipc/protocol/protocol.ts';
import type { ChannelName, ShownPreferences } from '../bridge/channels.ts';
import { channels } from '../bridge/channels.ts';
import type { WindowDeeds } from './ipc.ts';
import type { LoginItem } from '../system/login-item.ts';
import type { PreferenceFile } from '../system/preferences.ts';
import type { ScreenChoice } from '../system/screen-choice.ts';
import type { ScreenLock } from '../system/screen-lock.ts';
import type { SignInPages } from '../tray/sign-in-pages.ts';
import type { Question } from '../base/summary.ts';
import type { OurWindow, Windows } from './windows.ts';

export interface DeedParts {
  readonly owner: Pick<InProcessOwner, 'call' | 'release' | 'widens' | 'endsRefusal'>;
  readonly preferences: PreferenceFile;
  readonly loginItem: LoginItem;
  readonly screenChoice: ScreenChoice;
  readonly windows: Pick<Windows, 'answers'>;
  readonly screenLock: Pick<ScreenLock, 'hearing'>;
  readonly signInPages: SignInPages;
  /** Puts a text on the clipboard. */
  readonly copy: (text: string) => Promise<void>;
  readonly exportAudit: (window: OurWindow, format: 'jsonl' | 'csv') => Promise<{ readonly rows?: number }>;
  /** Preferences changed. */
  readonly preferencesChanged: () => void;
}

/** A channel's params as its schema made them. */
type Params<C extends ChannelName> = (typeof channels)[C]['params']['_zod']['output'];

type Special = {
  readonly [C in ChannelName]?: (window: OurWindow, params: Params<C>) => unknown;
};

/**
 * What needs a press whatever its params are: what always widens (DESIGN, Authority), what opens the
 * browser at a page that the server in its params names, and what leaves a text where the person pastes: a
 * hostile page could plant a command there at any moment, and so only gets to when somebody presses something.
 */
const alwaysPressed: ReadonlySet<ChannelName> = new Set<ChannelName>([
  'registration.set',
  'settings.set',
  'vault.unlock',
  'vault.passphrase',
  'login.start',
  'text.copy',
]);

export function deedsOf(parts: DeedParts): WindowDeeds {
  const special = { ...ownDeeds(parts), ...guardedDeeds(parts) };
  return (window) => async (channel, params) => {
    window.look();
    if (alwaysPressed.has(channel)) window.guard.approve();
    // The table binds each name to a deed of its own params; the compiler can't follow the lookup.
    const deed = special[channel] as ((window: OurWindow, params: unknown) => unknown) | undefined;
    return deed ? deed(window, params) : toBroker(parts, channel, params);
  };
}

function toBroker({ owner }: DeedParts, channel: ChannelName, params: unknown): Promise<unknown> {
  // Every channel without a deed of its own is a method of the owner's: ownDeeds has the others.
  return owner.call(channel as Parameters<InProcessOwner['call']>[0], params);
}

/** What the broker knows nothing of. */
function ownDeeds(parts: DeedParts): Special {
  const { preferences, loginItem, screenChoice, screenLock } = parts;
  const all = async (): Promise<ShownPreferences> => ({
    ...preferences.choices(),
    lockWithScreen: await screenChoice.isOn(),
    openAtLogin: await loginItem.isOn(),
    screenLock: screenLock.hearing,
  });
  return {
    'audit.export': (window, { format }) => parts.exportAudit(window, format),
    'card.shown': ({ guard }, { id }) => {
      guard.cardShown(id);
      return {};
    },
    'text.copy': async (_window, { text }) => {
      await parts.copy(text);
      return {};
    },
    'preferences.get': all,
    'preferences.set': async ({ guard }, { openAtLogin, lockWithScreen, ...choices }) => {
      // The vault would stay open behind a locked screen: no page decides that by itself.
      if (lockWithScreen === false && (await screenChoice.isOn())) guard.approve();
      if (lockWithScreen !== undefined) await screenChoice.set(lockWithScreen);
      // The system's to remember: it must work where our own file can't be read.
      if (openAtLogin !== undefined) await loginItem.set(openAtLogin);
      if (Object.values(choices).some((choice) => choice !== undefined)) preferences.choose(choices);
      parts.preferencesChanged();
      return all();
    },
  };
}

/** What the person said yes to may open one page of that server, without another press. */
function leadsToPage({ kind, command, method }: Partial<Question> = {}): boolean {
  return kind === 'allow' || (kind === 'command' && command === 'login' && method === 'browser');
}

/** Undefined where no such question is open. */
async function questionOf(owner: DeedParts['owner'], wanted: string): Promise<Question | undefined> {
  const { interactions } = methods['interaction.list'].result.parse(await owner.call('interaction.list', {}));
  return interactions.find(({ id }) => id === wanted);
}

/** What widens, depending on its params; and what a click may open a page for. */
function guardedDeeds({ owner, signInPages, windows }: DeedParts): Special {
  return {
    'interaction.answer': async ({ guard }, params) => {
      if (params.answer === 'yes') guard.approveCard(params.id);
      // Said first: the broker tells that the question is over before it answers us.
      windows.answers(params.id);
      if (params.answer !== 'yes') return owner.call('interaction.answer', params);
      const question = await questionOf(owner, params.id);
      // The broker takes any answer to a sign-in for "call it off"; a yes is about its page.
      if (question?.url !== undefined) {
        await signInPages.opened(params.id);
        return {};
      }
      const answer = await owner.call('interaction.answer', params);
      // Of a command's permission no page follows: no program waits for a token.
      if (leadsToPage(question)) signInPages.clicked(question?.resource ?? '');
      return answer;
    },
    'permission.set': async ({ guard }, params) => {
      if (await owner.widens(params)) {
        guard.approve();
        signInPages.clicked(params.resource);
      }
      return owner.call('permission.set', params);
    },
    'permission.end': async ({ guard }, params) => {
      if (await owner.endsRefusal(params)) guard.approve();
      return owner.call('permission.end', params);
    },
    'home.release': async ({ guard }, { isReleased }) => {
      if (isReleased) guard.approve();
      await owner.release(isReleased);
      return {};
    },
    'override.set': ({ guard }, params) => {
      if (params.on) guard.approve();
      return owner.call('override.set', params);
    },
    'login.start': async (_window, params) => {
      // An equal one that waits is joined, and has no page to come.
      await signInPages.broughtForward(params);
      return signInPages.during(params.resource, () => owner.call('login.start', params));
    },
    'login.answer': async ({ guard }, params) => {
      if (params.isErrorPage !== true) return owner.call('login.answer', params);
      // A client is registered, and another page of that server opens.
      guard.approve();
      // Looked up first: the answer ends it.
      const question = await questionOf(owner, params.id);
      const answer = await owner.call('login.answer', params);
      signInPages.clicked(question?.resource ?? '');
      return answer;
    },
  };
}
