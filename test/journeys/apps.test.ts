/** Programs at the desk: paired, allowed, denied, and what ends. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Locator, Page } from 'playwright';
import { describe, expect, it } from 'vitest';
import { iconShows, lookAt } from '../electron/rig.ts';
import { until } from '../support/home.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { asks } from '../support/processes/program.ts';
import { ofFile } from '../support/lasting.ts';
import { openWorld } from '../support/world.ts';
import { names } from './names.ts';
import {
  answerCard,
  deny,
  button,
  newDesk,
  openCard,
  openMain,
  placeIn,
  programOf,
  sharedSeat,
  usedDesk,
} from './person.ts';

const world = ofFile(() => openWorld());

/** All about this app, in the main window. */
async function shownIn(main: Page, name: string): Promise<Locator> {
  await main.locator('.pick', { hasText: name }).click();
  return main.locator('article', { hasText: name });
}

it('the first run welcomes a new user once, and starts at login if they say so', async () => {
  const config = temporaryFolder();
  // No server is spoken to, and what a new home asks about such settings isn't the subject.
  const env = { XDG_CONFIG_HOME: config, NODE_EXTRA_CA_CERTS: undefined, KEYTURN_BROWSER: undefined };
  const desk = newDesk(world.caFile, { vault: 'memory', env });
  const app = await desk.openApp();
  const [page] = await app.pages();
  if (!page) throw new Error('no window was opened');
  await page.getByRole('heading', { name: 'Welcome to Keyturn' }).waitFor();
  await page.getByRole('heading', { name: 'Connect the apps on this computer' }).waitFor();
  await button(page, 'Next').click();
  await button(page, 'Next').click();
  await page.getByLabel('Start when I log in').check();
  const entry = path.join(config, 'autostart', 'keyturn.desktop');
  const text = await until('the autostart file', () => {
    try {
      return readFileSync(entry, 'utf8');
    } catch {
      return undefined;
    }
  });
  expect(text).toMatch(/^Exec=".+" --hidden$/m);
  await button(page, 'Show my servers').click();
  await page.getByRole('heading', { name: names.tabs.servers, exact: true }).waitFor();
  await app.quit();

  const again = await desk.openApp();
  const [second] = await again.pages();
  await second?.getByRole('heading', { name: 'Who uses what' }).waitFor();
  expect(await second?.getByText('Welcome to Keyturn').count()).toBe(0);
});

describe('a program', () => {
  // The desk is signed in at the first server; each test has an app of its own.
  const desk = sharedSeat((group) =>
    usedDesk(world.caFile, group, { editor: placeIn(world), helper: undefined }),
  );

  it('is refused without a card once it was denied, until that is undone', async () => {
    const seat = desk.current();
    const { resource } = world.protectedServer;
    const program = await programOf(seat, 'helper');
    const tabs = seat.tabs();
    const asking = asks(program, { resource });
    await deny(await openCard(seat, names.notice.asking));
    await expect(asking).rejects.toMatchObject({ reason: 'consent_denied' });
    await expect(asks(program, { resource })).rejects.toMatchObject({ reason: 'consent_denied' });
    await iconShows(seat.app, 'fine');
    expect(await seat.app.notifications()).toEqual([]);

    const main = await openMain(seat, 'apps');
    const shown = await shownIn(main, 'helper');
    await shown.getByText('Denied', { exact: true }).waitFor();
    await lookAt(main);
    await button(main, /^Remove denial/).click();
    await shown.getByText('Nothing.').waitFor();
    const again = asks(program, { resource });
    await answerCard(await openCard(seat, names.notice.asking), names.card.refuse);
    await expect(again).rejects.toMatchObject({ reason: 'consent_required' });
    expect(seat.tabs()).toEqual(tabs);
  });
});
