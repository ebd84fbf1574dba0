/** A server at the desk that forgot the sign-in. */
import { expect, it } from 'vitest';
import type { Connection } from '../../src/client/index.ts';
import { iconShows, lookAt } from '../electron/rig.ts';
import { ofFile } from '../support/lasting.ts';
import { asks } from '../support/processes/program.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld } from '../support/world.ts';
import { button, openMain, tab, usedSeat } from './person.ts';

const world = ofFile(() => openWorld());

/** The MCP server refuses the program's token; so does the authorization server the refresh after it. */
async function isTurnedAway(program: Connection, access_token: string): Promise<void> {
  await program.rejectToken({ access_token, status: 401 });
  await expect(program.getToken({ resource: world.protectedServer.resource })).rejects.toMatchObject({
    reason: 'login_required',
  });
}

it('a server that forgot the sign-in is told, and one click opens one page', async () => {
  const { seat, program, token } = await usedSeat(world);
  const { app, tabs } = seat;
  const { resource } = world.protectedServer;
  const before = tabs().length;
  world.endGrants();
  await isTurnedAway(program, token);
  await iconShows(app, 'trouble');
  await app.clickNotification('Sign in again to');
  const main = await openMain(seat, 'servers');
  const { host } = new URL(resource);
  await main.locator('.pick', { hasText: host }).click();
  const server = main.locator('article', { hasText: host });
  await server.getByText('Sign-in required').waitFor();
  // Meanwhile a program asks as well: its own page waits and opens nothing.
  const asking = asks(program, { resource });
  await iconShows(app, 'waiting');
  expect(tabs()).toHaveLength(before);
  await lookAt(main);
  await button(main, /^Sign in again/).click();
  await world.signIn(await tab(seat, before + 1));
  const fresh = await asking;
  expect((await verdictOn(world, fresh.access_token)).status).toBe(200);
  await iconShows(app, 'fine');
  await server.getByText('Signed in', { exact: true }).waitFor();
  expect(tabs()).toHaveLength(before + 1);

  // Once more: now a program asks first.
  world.endGrants();
  await isTurnedAway(program, fresh.access_token);
  const again = asks(program, { resource });
  await iconShows(app, 'waiting');
  expect(tabs()).toHaveLength(before + 1);
  await app.choose('Sign in to');
  await world.signIn(await tab(seat, before + 2));
  await again;
  await iconShows(app, 'fine');
  expect(tabs()).toHaveLength(before + 2);
});
