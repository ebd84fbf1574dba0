/**
 * The user at the desk: what they see and press, and the programs on their machine.
 *
 * Invariant: everything goes by what is on the screen: a menu row, a notification, a button by its name. Only programs
 * use the socket. Each desk ends with the search for secrets in what crossed the bridge.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright';
import { onTestFinished } from 'vitest';
import { type Connection, connect } from '../../src/client/index.ts';
import { type App, binary, type Group, iconShows, openApp } from '../electron/rig.ts';
import { newHome, type HomeOptions, type TestHome, until } from '../support/home.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import type { TestWorld } from '../support/world.ts';
import { crossedOf, scanBridge } from './bridge-scan.ts';
import { signInFor } from './connected-home.ts';
import { names } from './names.ts';
import { ofTest } from '../support/lasting.ts';

const notingBrowser = path.join(import.meta.dirname, '..', 'support', 'browsers', 'noting-browser.sh');

/** A home whose browser only notes what it should open. */
export interface Desk {
  readonly home: TestHome;
  /** The addresses that the browser was given so far: as many as a user would have tabs. */
  readonly tabs: () => readonly string[];
  /** Starts the app at this desk. */
  readonly openApp: (args?: readonly string[]) => Promise<App>;
}

export interface Seat extends Desk {
  readonly app: App;
}

/** A desk in this world, with the keychain for a vault. It ends with the test, unless told otherwise. */
export function newDesk(caFile: string, options: HomeOptions = {}, group?: Group): Desk {
  const atEnd = group?.atEnd ?? onTestFinished;
  const notes = path.join(temporaryFolder(atEnd), 'tabs');
  const settings: HomeOptions = {
    vault: 'keychain',
    ...options,
    env: { NODE_EXTRA_CA_CERTS: caFile, KEYTURN_BROWSER: `sh ${notingBrowser} ${notes}`, ...options.env },
  };
  const home = group?.newHome(settings) ?? newHome(settings);
  const crossed: ReturnType<typeof crossedOf>[] = [];
  if (binary === undefined) atEnd(async () => void (await scanBridge(home, crossed)));
  const start = async (args?: readonly string[]): Promise<App> => {
    const app = await openApp(home, args, atEnd);
    crossed.push(crossedOf());
    return app;
  };
  return { home, tabs: () => linesOf(notes), openApp: start };
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch {
    // Nothing was opened yet.
    return [];
  }
}

/** Starts the app at a desk, without a window, as at login. */
export async function sitDown(desk: Desk): Promise<Seat> {
  return { ...desk, app: await desk.openApp(['--hidden']) };
}

/** The main window at one of its views, past the welcome. */
export async function openMain({ app }: Seat, name: keyof typeof names.tabs): Promise<Page> {
  await app.choose('Open Keyturn');
  const page = await until('the main window', async () =>
    // A card that is about to open is a blank page.
    (await app.pages()).find((open) => !/#card|^about:/.test(open.url())),
  );
  const view = page.getByRole('tab', { name: names.tabs[name] });
  const welcomed = page.getByRole('button', { name: 'Set up later' });
  await view.or(welcomed).waitFor();
  if (await welcomed.isVisible()) await welcomed.click();
  await view.click();
  await page.locator(`[role=tabpanel][aria-labelledby=tab-${name}]`).waitFor();
  return page;
}

export const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });

/** The card window, opened by a click on the notification with these words. */
export async function openCard({ app }: Seat, words: string): Promise<Page> {
  await app.clickNotification(words);
  const page = await until('the card window', async () =>
    (await app.pages()).find((open) => open.url().includes('#card/')),
  );
  await page.locator('.question [type=submit]').waitFor();
  return page;
}

/** Presses an answer on the card once it may be pressed, and sees the card go: to the next one, or with its window. */
export async function answerCard(card: Page, answer: string): Promise<void> {
  const here = card.url();
  // As a user scrolls: "Allow" waits until every scope and server was in view.
  for (const end of await card.locator('.question .end').all()) await end.scrollIntoViewIfNeeded();
  await button(card, answer).click();
  await until('the card goes', () => card.isClosed() || card.url() !== here);
}

/** A paired program's connection; it ends with the test. */
export async function programOf({ home }: Desk, name: string): Promise<Connection> {
  const connection = await ofTest(connect({ name, env: home.env }));
  return connection;
}

/** The newest tab, once there are so many. */
export async function tab({ tabs }: Desk, count: number): Promise<string> {
  await until(`${count} tabs`, () => tabs().length >= count);
  return tabs().at(-1) ?? '';
}

export const placeIn = ({ protectedServer: { resource }, signIn }: TestWorld) => ({ resource, signIn });

/**
 * A desk where `editor` was connected and allowed until that is revoked, and the user signed in once: all of it
 * before the app started, so that no tab is open.
 */
export async function usedSeat(world: TestWorld) {
  const desk = newDesk(world.caFile);
  const [token = ''] = await signInFor(desk.home, { editor: placeIn(world) });
  const seat = await sitDown(desk);
  const program = await programOf(seat, 'editor');
  await iconShows(seat.app, 'fine');
  return { seat, program, token };
}
