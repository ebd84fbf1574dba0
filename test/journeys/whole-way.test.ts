/** The whole way of a user who connects an app, at every width, light and dark. Presses are counted. */
import type { Page } from 'playwright';
import { expect, it } from 'vitest';
import { type Connection, connect, pair } from '../../src/client/index.ts';
import { lookAt } from '../electron/rig.ts';
import { asks } from '../support/processes/program.ts';
import { until } from '../support/home.ts';
import { layoutFaults } from '../support/states/layout.ts';
import { ofFile } from '../support/lasting.ts';
import { openWorld } from '../support/world.ts';
import { names } from './names.ts';
import { button, newDesk, openMain, type Seat, sitDown, tab } from './person.ts';

const world = ofFile(() => openWorld());
let seat: Seat;

type Way = readonly [width: number, theme: 'light' | 'dark', besides: number];

/**
 * CSS pixels: how wide the windows are that the user uses, and at which widths besides all of it has to be readable
 * and pressable. A narrow window shows one thing at a time. What is where doesn't depend on the theme, so each has one
 * of them; every-state.test.ts has both.
 */
const ways: readonly Way[] = [
  [320, 'dark', 480],
  [1440, 'light', 900],
];

/** The window as this user has it, and whether all of it can be read and pressed. */
async function isWhole(page: Page, [width, theme, besides]: Way): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  for (const each of [besides, width]) {
    await page.setViewportSize({ width: each, height: 700 });
    expect(await layoutFaults(page), `at ${each} px`).toEqual([]);
  }
}

/** Counts the presses in a window from now on; once more for the same one changes nothing. */
async function count(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(`if (window.presses === undefined) {
    window.presses = 0;
    // A label presses its box besides: that is one press of the user's.
    document.addEventListener('pointerdown', () => { window.presses += 1; }, true);
  }`);
  return () => page.evaluate<number>('window.presses');
}

/** The card that has this button: in the window of the card before it, else by a click on the notification. */
async function cardWith(name: string, notice: string): Promise<Page> {
  return until(`the card with ${name}`, async () => {
    const pages = await seat.app.pages();
    const open = pages.find((page) => !page.isClosed() && page.url().includes('#card/'));
    if (open !== undefined) return (await button(open, name).isVisible()) ? open : undefined;
    const told = await seat.app.notifications();
    if (told.some((text) => text.includes(notice))) await seat.app.clickNotification(notice);
    return undefined;
  });
}

/** Connects a new app and allows what it asks for until that is revoked: three presses, and the pages of the sign-in provider. */
async function connects(name: string, look: (page: Page) => Promise<void>): Promise<Connection> {
  const { resource } = world.protectedServer;
  const shown = Promise.withResolvers<string>();
  const pairing = pair({ name, env: seat.home.env, onCode: shown.resolve });
  pairing.catch(shown.reject);
  await shown.promise;
  const pairs = await cardWith(names.card.pair, names.notice.pairing);
  await count(pairs);
  await look(pairs);
  await button(pairs, names.card.pair).click();
  const program = await connect({ key: await pairing, env: seat.home.env });
  const asking = asks(program, { resource, scope: 'notes:read notes:write' });
  const card = await cardWith(names.card.allow, names.notice.asking);
  const pressed = await count(card);
  await look(card);
  for (const scope of await card.locator('.scopes .end').all()) await scope.scrollIntoViewIfNeeded();
  await card.getByLabel('Until you revoke it').check();
  // The window goes with the last press.
  expect(await pressed()).toBe(card === pairs ? 2 : 1);
  await button(card, names.card.allow).click();
  await world.signIn(await tab(seat, 1));
  await asking;
  return program;
}

/** Presses the row of this app or server: a narrow window shows only one thing then. */
const picked = (main: Page, name: string): Promise<void> => main.locator('.pick', { hasText: name }).click();

it.each(ways)('a user connects, signs in, reduces, pauses and revokes: %i px, %s', async (...way) => {
  seat = await sitDown(newDesk(world.caFile));
  const { resource } = world.protectedServer;
  const look = (page: Page): Promise<void> => isWhole(page, way);
  const program = await connects('editor', look);
  const token = async (): Promise<unknown> => program.getToken({ resource, scope: 'notes:read' });

  const main = await openMain(seat, 'apps');
  const pressed = await count(main);
  await look(main);
  await lookAt(main);
  let before = await pressed();
  await picked(main, 'editor');
  await button(main, /^Manage access of/).click();
  await look(main);
  await main.getByRole('dialog').getByLabel('notes:write').uncheck();
  await button(main, 'Save').click();
  await main.getByRole('dialog').waitFor({ state: 'detached' });
  expect((await pressed()) - before).toBe(4);
  await expect(program.getToken({ resource, scope: 'notes:write' })).rejects.toMatchObject({
    reason: 'consent_required',
  });
  await token();

  before = await pressed();
  await main.getByRole('tab', { name: names.tabs.settings }).click();
  await main.getByRole('button', { name: 'Security', exact: true }).click();
  await button(main, 'Pause until I resume').click();
  await main.locator('strong', { hasText: 'All access is paused. Apps get no access.' }).waitFor();
  expect((await pressed()) - before).toBe(3);
  await look(main);
  await expect(token()).rejects.toMatchObject({ reason: 'paused' });
  await lookAt(main);
  await button(main, 'Resume').click();
  await main
    .locator('strong', { hasText: 'All access is paused. Apps get no access.' })
    .waitFor({ state: 'detached' });
  await token();

  before = await pressed();
  await main.getByRole('tab', { name: names.tabs.servers }).click();
  await picked(main, new URL(resource).host);
  await look(main);
  await button(main, /^Revoke sign-in to/).click();
  const dialog = main.getByRole('dialog');
  await look(main);
  await dialog.getByRole('button', { name: 'Revoke sign-in', exact: true }).click();
  await dialog.getByText('The sign-in provider confirmed that the access has ended.').waitFor();
  await look(main);
  await dialog.getByRole('button', { name: 'Close' }).click();
  expect((await pressed()) - before).toBe(5);
  await expect(token()).rejects.toMatchObject({ reason: 'login_required' });
});
