/** Programs at the desk: paired, allowed, denied, and what ends. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { iconShows, openApp } from '../electron/rig.ts';
import { until } from '../support/home.ts';
import { asks } from '../support/processes/program.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld, type TestWorld } from '../support/world.ts';
import { names } from './names.ts';
import {
  answerCard,
  deny,
  lookAt,
  button,
  connectedSeat,
  newDesk,
  newSeat,
  openCard,
  openMain,
  pairs,
  programOf,
  tab,
} from './person.ts';

let world: TestWorld;
let resource: string;

beforeAll(async () => {
  world = await openWorld();
  ({ resource } = world.protectedServer);
});

afterAll(() => world.close());

describe('the first run', () => {
  it('the first run welcomes a new person once, and starts at login if they say so', async () => {
    const config = mkdtempSync(path.join(tmpdir(), 'kt-config-'));
    onTestFinished(() => rmSync(config, { recursive: true }));
    const desk = newDesk(world.caFile, { env: { XDG_CONFIG_HOME: config } });
    const app = await openApp(desk.home);
    const [page] = await app.pages();
    if (!page) throw new Error('no window was opened');
    await page.getByRole('heading', { name: names.welcome.title }).waitFor();
    await page.getByRole('heading', { name: names.welcome.clients }).waitFor();
    await page.getByLabel(names.welcome.startAtLogin).check();
    const entry = path.join(config, 'autostart', 'keyturn.desktop');
    const text = await until('the autostart file', () => {
      try {
        return readFileSync(entry, 'utf8');
      } catch {
        return undefined;
      }
    });
    expect(text).toMatch(/^Exec=".+" --hidden$/m);
    await button(page, names.welcome.done).click();
    await page.getByRole('heading', { name: names.tabs.servers, exact: true }).waitFor();
    await app.quit();

    const again = await openApp(desk.home);
    const [second] = await again.pages();
    await second?.getByRole('heading', { name: names.overview }).waitFor();
    expect(await second?.getByText(names.welcome.title).count()).toBe(0);
  });
});

describe('a program', () => {
  it('a program is paired by its digits, allowed on its card, and gets its token after one sign-in page', async () => {
    const seat = await newSeat(world.caFile);
    const { app, tabs } = seat;
    await iconShows(app, names.icon.fine);
    await pairs(seat, 'editor');
    const program = await programOf(seat, 'editor');
    const asking = asks(program, { resource });
    await iconShows(app, names.icon.waiting);
    const card = await openCard(seat, names.notice.asking);
    expect(tabs()).toEqual([]);
    const text = await card.locator('main').innerText();
    for (const part of ['editor', resource, process.execPath]) expect(text).toContain(part);
    await answerCard(card, names.card.allow);
    const page = await tab(seat, 1);
    await iconShows(app, names.icon.waiting);
    expect(await world.signIn(page)).toMatchObject({ status: 200 });
    const { access_token: token } = await asking;
    expect((await verdictOn(world, token)).status).toBe(200);
    await iconShows(app, names.icon.fine);
    expect(tabs()).toEqual([page]);
  });

  it('a program is refused without a card once it was denied, until the person undoes that in Programs', async () => {
    const { seat, program } = await connectedSeat(world.caFile);
    const asking = asks(program, { resource });
    await deny(await openCard(seat, names.notice.asking));
    await expect(asking).rejects.toMatchObject({ reason: 'consent_denied' });
    await expect(asks(program, { resource })).rejects.toMatchObject({ reason: 'consent_denied' });
    await iconShows(seat.app, names.icon.fine);
    expect(await seat.app.notifications()).toEqual([]);

    const main = await openMain(seat, 'programs');
    await main.getByText(names.programs.denied, { exact: true }).waitFor();
    await lookAt(main);
    await button(main, names.programs.undo).click();
    await main.getByText(names.programs.nothing).waitFor();
    const again = asks(program, { resource });
    await answerCard(await openCard(seat, names.notice.asking), names.card.later);
    await expect(again).rejects.toMatchObject({ reason: 'consent_required' });
    expect(seat.tabs()).toEqual([]);
  });

  it('a program that was allowed for its session has to ask again once its connection has closed', async () => {
    const { seat, program } = await connectedSeat(world.caFile);
    const asking = asks(program, { resource });
    const card = await openCard(seat, names.notice.asking);
    await card.getByLabel(names.card.session).check();
    await answerCard(card, names.card.allow);
    await world.signIn(await tab(seat, 1));
    await asking;
    await program.getToken({ resource });
    program.close();

    const next = await programOf(seat, 'editor');
    await expect(next.getToken({ resource })).rejects.toMatchObject({ reason: 'consent_required' });
    const again = asks(next, { resource });
    await deny(await openCard(seat, names.notice.asking));
    await expect(again).rejects.toMatchObject({ reason: 'consent_denied' });
  });

  it('a program that was allowed for an hour is refused as soon as the person ends it in Programs', async () => {
    const { seat, program } = await connectedSeat(world.caFile);
    const asking = asks(program, { resource, scope: 'notes:read' });
    const card = await openCard(seat, names.notice.asking);
    await card.getByLabel(names.card.hour).check();
    await answerCard(card, names.card.allow);
    await world.signIn(await tab(seat, 1));
    await asking;
    const main = await openMain(seat, 'programs');
    // The app's clock is the machine's own: an hour isn't waited for, but it is what the card said.
    expect(await main.locator('article', { hasText: 'editor' }).innerText()).toMatch(
      /in (1 hour|\d\d minutes)/,
    );
    await button(main, names.programs.end).click();
    await main.getByText(names.programs.nothing).waitFor();
    await expect(program.getToken({ resource })).rejects.toMatchObject({ reason: 'consent_required' });
  });
});
