/**
 * The desktop app for a test: over the double of Electron, or the real program that KEYTURN_TEST_ELECTRON names (npm run
 * test:electron). A test that uses only this file's `App` runs on both.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Page } from 'playwright';
import { afterAll, onTestFinished } from 'vitest';
import type { ChannelName, Envelope, ParamsOn, ResultOn } from '../../electron/bridge/channels.ts';
import { useLocale } from '../../electron/base/words.ts';
import { startDesktop, type DesktopOptions } from '../../electron/desktop.ts';
import { app, double } from '../support/electron/electron-double.ts';
import { type HomeOptions, TestHome, until } from '../support/home.ts';
import { tellStoryOf } from '../support/homes/common-home.ts';
import { openBinary } from './binary.ts';

/** The real Electron, if the run has one. */
export const binary = process.env['KEYTURN_TEST_ELECTRON'];

/** What the user has of the app: windows, icon, menu, notifications. */
export interface App {
  /** The pages of the open windows, in the order in which they were opened. */
  pages(): Promise<readonly Page[]>;
  /** The name of the picture that the tray shows now, and the rows of its menu: `group > row` for one in a group. */
  tray(): Promise<Tray>;
  /** Clicks the row of the tray's menu that begins with these words. */
  choose(row: string): Promise<void>;
  /** The sentences of the notifications so far that nobody has clicked. */
  notifications(): Promise<readonly string[]>;
  /** Clicks the newest notification whose sentence holds these words. */
  clickNotification(words: string): Promise<void>;
  /** Sends its process a signal, as a script or the end of a session does. */
  signal(name: NodeJS.Signals): Promise<void>;
  /** Resolves when the app is gone, whoever ended it. */
  gone(): Promise<void>;
  /** Ends it, as the system does at the end of a session, and waits until it is gone. */
  quit(): Promise<void>;
}

export interface Tray {
  readonly picture: string;
  readonly rows: readonly string[];
}

/** Takes what ends something: with the test, or with a group of tests that share it. */
export type AtEnd = (end: () => void | Promise<void>) => void;

/** Called in the `describe` of those tests. */
export function openGroup() {
  const ends: Parameters<AtEnd>[0][] = [];
  const homes: TestHome[] = [];
  tellStoryOf(() => homes);
  afterAll(async () => {
    const failures: unknown[] = [];
    for (const end of ends.toReversed())
      await Promise.try(end).catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  });
  return {
    /** What was started last ends first. */
    atEnd: (end: Parameters<AtEnd>[0]) => void ends.push(end),
    /** Each test of the group that fails tells what its commands said. */
    newHome(options: HomeOptions) {
      const home = new TestHome(options);
      homes.push(home);
      ends.push(() => home.close());
      return home;
    },
  };
}

/** Tests that share a home and its app. There is one double: no other app may run until they are over. */
export type Group = ReturnType<typeof openGroup>;

/**
 * Starts the app on this home; it ends with the test, unless told otherwise. Where the app asks at its start about the
 * settings that the home is made with, the user approves.
 */
export async function openApp(home: TestHome, args: readonly string[] = [], atEnd: AtEnd = onTestFinished) {
  const isAsked = asksAtStart(home);
  const opened = binary === undefined ? overDouble : await openBinary(binary, home, args, atEnd);
  if (binary === undefined) await startInDouble(home, args, {}, {}, atEnd);
  if (double.errors.length > 0) throw new Error(`the app did not start: ${double.errors.join(' ')}`);
  if (isAsked) await confirmSettings(opened);
  return opened;
}

/** Variables that a new home records, and that its user has to confirm. */
const unapproved = ['NODE_EXTRA_CA_CERTS', 'KEYTURN_BROWSER', 'KEYTURN_ALLOW_INSECURE_LOOPBACK'];

function asksAtStart({ env, paths }: TestHome): boolean {
  const isForgotten = env['KEYTURN_VAULT'] === 'memory' || !existsSync(path.join(paths.config, 'owner.key'));
  return isForgotten && unapproved.some((name) => env[name] !== undefined);
}

/** Approves the card about the settings, and sees it go. */
export async function confirmSettings(opened: App): Promise<void> {
  await opened.clickNotification('Settings were changed outside Keyturn');
  const card = await until('the card about the settings', async () =>
    (await opened.pages()).find((page) => page.url().includes('#card/')),
  );
  const here = card.url();
  await card.getByRole('button', { name: 'Apply', exact: true }).click();
  await until('the card goes', () => card.isClosed() || card.url() !== here);
}

/** The page of the app's only window. */
export async function onlyPage(opened: App): Promise<Page> {
  const [page, ...others] = await opened.pages();
  if (!page || others.length > 0) throw new Error(`${others.length + (page ? 1 : 0)} windows are open`);
  return page;
}

/** Resolves once the tray's picture is that of a state. */
export async function iconShows(opened: App, state: string): Promise<void> {
  await until(`the icon shows ${state}`, async () => (await opened.tray()).picture.startsWith(state));
}

/** Starts the main process over the double. Ends with the test, unless told otherwise. */
export async function startInDouble(
  home: TestHome,
  args: readonly string[] = [],
  set: Partial<typeof double> = {},
  given: Pick<DesktopOptions, 'after' | 'showsTray'> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<void> {
  double.reset();
  Object.assign(double, set);
  // For the next file of the process; runs after the app has ended.
  atEnd(() => useLocale('en'));
  atEnd(async () => {
    if (double.exitCode === undefined && double.isPrimary) await overDouble.quit();
  });
  // The bus of the throw-away keyring has no tray.
  await startDesktop({ args, env: home.env, showsTray: async () => true, ...given });
}

type Item = (typeof double)['menu'][number];

const overDouble: App = {
  pages: () => Promise.all(double.windows.map(({ webContents }) => webContents.page)),
  tray: () =>
    Promise.resolve({
      picture: path.basename(double.tray?.image ?? ''),
      rows: rowsOf(double.menu).map(({ label }) => label),
    }),
  async choose(words) {
    const row = await until(`a row ${words}`, () =>
      rowsOf(double.menu).find(({ label }) => label.startsWith(words)),
    );
    // Electron hands a click's surroundings on, which nothing here reads.
    (row.item.click as (() => void) | undefined)?.();
  },
  notifications: () => Promise.resolve(double.notifications.map(({ options }) => options.body ?? '')),
  async clickNotification(words) {
    const found = await until(`a notification of ${words}`, () =>
      double.notifications.findLast(({ options }) => options.body?.includes(words)),
    );
    double.notifications = double.notifications.filter((other) => other !== found);
    found.emit('click');
  },
  async signal(name) {
    // Nobody listens: then the system ends a process on the spot.
    if (!process.emit(name, name)) throw new Error(`${name} would end the app at once`);
  },
  gone: () => double.ended.promise,
  async quit() {
    app.quit();
    await double.ended.promise;
  },
};

/** Every row of a menu, with those of its groups. */
function rowsOf(items: readonly Item[], above = ''): { label: string; item: Item }[] {
  return items.flatMap((item) => {
    const label = `${above}${item.label ?? ''}`;
    const inner = Array.isArray(item.submenu) ? rowsOf(item.submenu, `${label} > `) : [];
    return [{ label, item }, ...inner];
  });
}

/** Asks the main process from the page, as a script in it could. */
export async function ask<C extends ChannelName>(
  page: Page,
  channel: C,
  params: ParamsOn<C>,
): Promise<Envelope<ResultOn<C>>> {
  // The page has a `window` that these types, Node's, don't know.
  const call = ([name, given]: readonly [string, unknown]): Promise<unknown> =>
    (globalThis as unknown as PageGlobals).keyturn.call(name, given);
  // What a channel answers has passed its schema in the main process.
  return (await page.evaluate(call, [channel, params] as const)) as Envelope<ResultOn<C>>;
}

/**
 * Asks in the moment of a click or a key, as the page itself does: a press counts for two seconds, and a test that
 * asks later loses it on a busy machine.
 */
export async function askByPress<C extends ChannelName>(
  page: Page,
  press: () => Promise<void>,
  channel: C,
  params: ParamsOn<C>,
): Promise<Envelope<ResultOn<C>>> {
  const listen = ([name, given]: readonly [string, unknown]): void => {
    const globals = globalThis as unknown as PageGlobals;
    globals.asked = new Promise((resolve) => {
      const call = (): void => resolve(globals.keyturn.call(name, given));
      const stop = new AbortController();
      for (const event of ['click', 'keydown']) {
        globals.addEventListener(event, () => (stop.abort(), call()), { signal: stop.signal });
      }
    });
  };
  const asked = [channel, params] as const;
  const earlier = double.answered.length;
  await page.evaluate(listen, asked);
  // The wait begins before the press: a card's window may close with the answer, even before its page hears it.
  const answer = page
    .evaluate(() => (globalThis as unknown as PageGlobals).asked)
    .catch((cause: unknown) => answerTo(asked, earlier, cause));
  const [, envelope] = await Promise.all([press(), answer]);
  return envelope as Envelope<ResultOn<C>>;
}

/**
 * The answer of the double's main process to this call; the first `earlier` answers don't count. The test sees no
 * answers of a real binary: there it throws the cause.
 */
async function answerTo(asked: readonly unknown[], earlier: number, cause: unknown): Promise<unknown> {
  if (binary !== undefined) throw cause;
  const { answer } = await until('an answer of the main process', () =>
    double.answered.slice(earlier).find(({ args }) => isDeepStrictEqual(args, asked)),
  );
  return answer;
}

interface PageGlobals extends Pick<EventTarget, 'addEventListener'> {
  readonly keyturn: AnyBridge;
  asked?: Promise<unknown>;
}

interface AnyBridge {
  call(channel: string, params: unknown): Promise<unknown>;
}

/** Milliseconds: a little more than a window has to be in front until a press in it counts. It runs on the clock that the app reads. */
const aLook = 600;

/** As long as it takes until a press in this window counts. */
export async function lookAt(page: Page): Promise<void> {
  await page.evaluate((wait) => new Promise((done) => setTimeout(done, wait)), aLook);
}

/** The value of an answer; fails the test where it is a refusal. */
export function valueOf<T>(envelope: Envelope<T>): T {
  if (envelope.ok) return envelope.value;
  throw new Error(`refused: ${envelope.refusal.reason}: ${envelope.refusal.message}`);
}
