/** Servers at the desk: revoked, out of reach, signed out of, and signed in to again. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Connection } from '../../src/client/index.ts';
import { iconShows } from '../electron/rig.ts';
import { openBentWorld } from '../support/bent/world.ts';
import { until } from '../support/home.ts';
import { asks } from '../support/processes/program.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld, type TestWorld } from '../support/world.ts';
import { names } from './names.ts';
import { button, lookAt, newSeat, openMain, type Place, tab, usedSeat } from './person.ts';

let world: TestWorld;
let place: Place;

beforeAll(async () => {
  world = await openWorld();
  place = { ...world, resource: world.protectedServer.resource };
});

afterAll(() => world.close());

/** The card of the only server. */
const server = (page: Page): Locator => page.locator('article');

/** Presses Revoke and the step after it, and sees the receipt. */
async function revoke(
  page: Page,
  receipt: string | RegExp,
  by: RegExp = names.servers.revoke,
): Promise<void> {
  await button(page, by).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: names.servers.confirm, exact: true }).click();
  await dialog.getByText(receipt).waitFor();
  await dialog.getByRole('button', { name: names.servers.done }).click();
}

describe('a grant that the person revokes', () => {
  it('a grant that the person revokes is over at once for its program, and the server confirms that it ended the tokens', async () => {
    const { seat, program, token } = await usedSeat(place);
    const { authorizationServer } = world;
    const live = authorizationServer.issued.filter((one) => authorizationServer.honours(one));
    expect(live).toHaveLength(1);
    const main = await openMain(seat, 'servers');
    await server(main).getByText(names.servers.signedIn, { exact: true }).waitFor();
    await revoke(main, names.servers.confirmed);
    const { resource } = place;
    await expect(program.getToken({ resource })).rejects.toMatchObject({ reason: 'login_required' });
    expect(live.filter((one) => authorizationServer.honours(one))).toEqual([]);
    expect((await verdictOn(world, token)).status).toBe(401);
    await server(main).getByText(names.servers.ended, { exact: true }).waitFor();
    expect(seat.tabs()).toEqual([]);
  });

  it('a revoked grant is over while the server can’t be reached, and confirmed when it is tried after that', async () => {
    const bent = await openBentWorld();
    onTestFinished(() => bent.close());
    const { authorizationServer, protectedServer } = bent;
    const { seat, program, token } = await usedSeat({
      caFile: bent.caFile,
      resource: protectedServer.url,
      signIn: (url) => bent.fetch(url),
    });
    const main = await openMain(seat, 'servers');
    const back = authorizationServer.server.on('*', '*', 'destroy');
    await revoke(main, names.servers.pending);
    await server(main).getByText(names.servers.ended, { exact: true }).waitFor();
    await server(main).getByText(names.servers.pending).waitFor();
    await expect(program.getToken({ resource: protectedServer.url })).rejects.toMatchObject({
      reason: 'login_required',
    });
    expect(authorizationServer.verify(token)).toBeDefined();

    back();
    // The broker tries again by itself in a minute; who doesn't want to wait presses once more.
    await revoke(main, names.servers.confirmed, names.servers.tellAgain);
    expect(authorizationServer.verify(token)).toBeUndefined();
    await server(main).getByText(names.servers.confirmed).waitFor();
  });
});

/** The protected server refuses the program's token; so does the authorization server the refresh after it. */
async function isTurnedAway(program: Connection, token: string): Promise<void> {
  await program.rejectToken({ access_token: token, status: 401 });
  await expect(program.getToken({ resource: place.resource })).rejects.toMatchObject({
    reason: 'login_required',
  });
}

describe('a server that forgot the grant', () => {
  it('a server that forgot the grant shows in the icon and a notification, and one click there, or in the menu where a program waits, opens one page, not two', async () => {
    const { seat, program, token } = await usedSeat(place);
    const { app, tabs } = seat;
    const { resource } = place;
    world.endGrants();
    await isTurnedAway(program, token);
    await iconShows(app, names.icon.signedOut);
    await app.clickNotification(names.notice.signedOut);
    const main = await openMain(seat, 'servers');
    await server(main).getByText(names.servers.signInNeeded).waitFor();
    // Meanwhile a program asks as well: its own page waits and opens nothing.
    const asking = asks(program, { resource });
    await iconShows(app, names.icon.waiting);
    expect(tabs()).toEqual([]);
    await lookAt(main);
    await button(main, names.servers.signInAgain).click();
    await world.signIn(await tab(seat, 1));
    const fresh = await asking;
    expect((await verdictOn(world, fresh.access_token)).status).toBe(200);
    await iconShows(app, names.icon.fine);
    await server(main).getByText(names.servers.signedIn, { exact: true }).waitFor();
    expect(tabs()).toHaveLength(1);

    // Once more: now a program asks first.
    world.endGrants();
    await isTurnedAway(program, fresh.access_token);
    const again = asks(program, { resource });
    await iconShows(app, names.icon.waiting);
    expect(tabs()).toHaveLength(1);
    await app.choose(names.menu.signIn);
    await world.signIn(await tab(seat, 2));
    await again;
    await iconShows(app, names.icon.fine);
    expect(tabs()).toHaveLength(2);
  });
});

describe('a server that the person enters', () => {
  it('a server that the person enters is signed in to by one page, before any program asks', async () => {
    const seat = await newSeat(world.caFile);
    const main = await openMain(seat, 'servers');
    await main.getByText(names.servers.add, { exact: true }).click();
    await main.getByLabel(names.servers.address).fill(place.resource);
    await lookAt(main);
    await button(main, names.servers.signIn).click();
    await world.signIn(await tab(seat, 1));
    await server(main).getByText(names.servers.signedIn, { exact: true }).waitFor();
    await until('the menu names it', async () =>
      (await seat.app.tray()).rows.some((row) => row.includes('signed in')),
    );
    expect(seat.tabs()).toHaveLength(1);
  });
});
