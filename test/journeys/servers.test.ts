/** Servers at the desk: revoked, out of reach, signed out of, and signed in to again. */
import type { Locator, Page } from 'playwright';
import { describe, expect, it } from 'vitest';
import type { Connection } from '../../src/client/index.ts';
import { iconShows, lookAt } from '../electron/rig.ts';
import { until } from '../support/home.ts';
import { ofFile } from '../support/lasting.ts';
import { asks } from '../support/processes/program.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld } from '../support/world.ts';
import { signInFor } from './connected-home.ts';
import { button, newDesk, openMain, placeIn, programOf, sharedSeat, tab } from './person.ts';

/** A server for each test, each with a sign-in provider of its own. */
const forgetful = ofFile(() => openWorld());
const entered = ofFile(() => openWorld());

/** All about this server, in the main window. */
async function shownIn(main: Page, resource: string): Promise<Locator> {
  const { host } = new URL(resource);
  await main.locator('.pick', { hasText: host }).click();
  return main.locator('article', { hasText: host });
}

/** What the app was given there before the app started. */
let token = '';

describe('servers at one desk', () => {
  const desk = sharedSeat(async (group) => {
    const opened = newDesk(forgetful.caFile, {}, group);
    [token = ''] = await signInFor(opened.home, { helper: placeIn(forgetful) });
    return opened;
  });

  /** The MCP server refuses the program's token; so does the authorization server the refresh after it. */
  async function isTurnedAway(program: Connection, access_token: string): Promise<void> {
    await program.rejectToken({ access_token, status: 401 });
    await expect(program.getToken({ resource: forgetful.protectedServer.resource })).rejects.toMatchObject({
      reason: 'login_required',
    });
  }

  it('that forgot the sign-in is told, and one click opens one page', async () => {
    const seat = desk.current();
    const { app, tabs } = seat;
    const { resource } = forgetful.protectedServer;
    const program = await programOf(seat, 'helper');
    const before = tabs().length;
    await iconShows(app, 'fine');
    forgetful.endGrants();
    await isTurnedAway(program, token);
    await iconShows(app, 'trouble');
    await app.clickNotification('Sign in again to');
    const main = await openMain(seat, 'servers');
    const server = await shownIn(main, resource);
    await server.getByText('Sign-in required').waitFor();
    // Meanwhile a program asks as well: its own page waits and opens nothing.
    const asking = asks(program, { resource });
    await iconShows(app, 'waiting');
    expect(tabs()).toHaveLength(before);
    await lookAt(main);
    await button(main, /^Sign in again/).click();
    await forgetful.signIn(await tab(seat, before + 1));
    const fresh = await asking;
    expect((await verdictOn(forgetful, fresh.access_token)).status).toBe(200);
    await iconShows(app, 'fine');
    await server.getByText('Signed in', { exact: true }).waitFor();
    expect(tabs()).toHaveLength(before + 1);

    // Once more: now a program asks first.
    forgetful.endGrants();
    await isTurnedAway(program, fresh.access_token);
    const again = asks(program, { resource });
    await iconShows(app, 'waiting');
    expect(tabs()).toHaveLength(before + 1);
    await app.choose('Sign in to');
    await forgetful.signIn(await tab(seat, before + 2));
    await again;
    await iconShows(app, 'fine');
    expect(tabs()).toHaveLength(before + 2);
  });

  it('that the person enters is signed in to by one page, before any app asks', async () => {
    const seat = desk.current();
    const { resource } = entered.protectedServer;
    const before = seat.tabs().length;
    const main = await openMain(seat, 'servers');
    await main.getByText('Add server', { exact: true }).click();
    await main.getByLabel('Server address').fill(resource);
    await lookAt(main);
    await button(main, 'Sign in').click();
    await entered.signIn(await tab(seat, before + 1));
    const server = main.locator('article', { hasText: new URL(resource).host });
    await server.getByText('Signed in', { exact: true }).waitFor();
    await until('the menu names it', async () =>
      (await seat.app.tray()).rows.some(
        (row) => row.includes(new URL(resource).host) && row.includes('signed in'),
      ),
    );
    expect(seat.tabs()).toHaveLength(before + 1);
  });
});
