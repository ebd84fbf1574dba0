/** The broker behind the app: locked and unlocked, quit in the middle, taken over from another one. */
import { setImmediate } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type App, confirmSettings, type Group, iconShows, lookAt, openGroup } from '../electron/rig.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { ofFile } from '../support/lasting.ts';
import { openWorld } from '../support/world.ts';
import { signInFor } from './connected-home.ts';
import { names } from './names.ts';
import {
  answerCard,
  button,
  type Desk,
  newDesk,
  openCard,
  openMain,
  placeIn,
  programOf,
  type Seat,
  sitDown,
  tab,
} from './person.ts';

const world = ofFile(() => openWorld());

/** A seat for several tests: called in their `describe`. If the app is gone after a test, the next starts it again. */
function sharedSeat(open: (group: Group) => Promise<Desk>) {
  const group = openGroup();
  let seat: Seat | undefined;
  const current = (): Seat => {
    if (seat === undefined) throw new Error('The app is not started.');
    return seat;
  };
  const sitDownAgain = async (): Promise<Seat> => (seat = await sitDown(current()));
  beforeAll(async () => {
    seat = await sitDown(await open(group));
  });
  beforeEach(async () => {
    // A promise that isn't settled yet loses to the next turn of the loop.
    const isGone = current()
      .app.gone()
      .then(() => true);
    if (await Promise.race([isGone, setImmediate(false)])) await sitDownAgain();
  });
  return { current, sitDownAgain };
}

describe('a desk where an app has its token', () => {
  const desk = sharedSeat(async (group) => {
    const opened = newDesk(world.caFile, {}, group);
    await signInFor(opened.home, { editor: placeIn(world) });
    return opened;
  });

  it('is locked and opened from the menu and from the window', async () => {
    const seat = desk.current();
    const { app } = seat;
    const { resource } = world.protectedServer;
    const program = await programOf(seat, 'editor');
    await iconShows(app, 'fine');
    const main = await openMain(seat, 'settings');
    await button(main, 'Security').click();
    // Where it is locked every view says so, with a button of its own.
    const inWindow = (name: string) => () => button(main, name).first().click();
    const ways = [
      { lock: () => app.choose('Lock'), unlock: inWindow('Unlock') },
      { lock: inWindow('Lock now'), unlock: () => app.choose('Unlock') },
    ];
    await lookAt(main);
    for (const { lock, unlock } of ways) {
      await lock();
      await iconShows(app, 'held');
      await expect(program.getToken({ resource })).rejects.toMatchObject({ reason: 'locked' });
      expect((await app.tray()).rows).not.toContain('Lock');
      await unlock();
      await iconShows(app, 'fine');
      const { access_token: token } = await program.getToken({ resource });
      expect((await verdictOn(world, token)).status).toBe(200);
    }
    expect(seat.tabs()).toEqual([]);
  });

  const byMenu = (app: App): Promise<void> => app.choose('Quit');
  const bySignals = async (app: App): Promise<void> => {
    for (const name of ['SIGTERM', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGTERM'] as const) await app.signal(name);
  };

  it.each([
    ['from the menu', byMenu],
    ['by one signal after another', bySignals],
  ])('quitting %s waits for a rotation, and the next start needs no sign-in', async (_how, quit) => {
    const seat = desk.current();
    const { app } = seat;
    const { resource } = world.protectedServer;
    const program = await programOf(seat, 'editor');
    const { access_token: token } = await program.getToken({ resource });
    const before = world.counts().authorizationServer.refreshes;
    const held = world.holdTokenRequests();
    onTestFinished(() => held.release());
    await program.rejectToken({ access_token: token, status: 401 });
    const refreshing = program.getToken({ resource });
    await held.arrived;
    let isGone = false;
    const gone = app.gone().then(() => (isGone = true));
    await quit(app);
    // As long as a process takes: time enough to go, if anything let it.
    await seat.home.keyturn(['completion', 'bash']);
    expect(isGone).toBe(false);
    held.release();
    await gone;
    const rotated = await refreshing;
    expect((await verdictOn(world, rotated.access_token)).status).toBe(200);
    expect(world.counts().authorizationServer).toMatchObject({ refreshes: before + 1, refreshReuses: 0 });

    const next = await desk.sitDownAgain();
    const again = await programOf(next, 'editor');
    const { access_token: fresh } = await again.getToken({ resource });
    expect((await verdictOn(world, fresh)).status).toBe(200);
    expect(world.counts().authorizationServer).toMatchObject({ refreshes: before + 2, refreshReuses: 0 });
    expect(next.tabs()).toEqual([]);
  });
});

it('a headless broker hands its question to the app, which answers it', async () => {
  const desk = newDesk(world.caFile);
  const headless = desk.home.start(['broker', 'run']);
  await headless.says('the broker listens on');
  const asking = desk.home.start(['token', world.protectedServer.resource]);
  await asking.says('keyturn request approve');
  const seat = await sitDown(desk);
  expect((await headless.ended).code).toBe(0);
  await iconShows(seat.app, 'waiting');
  // Nobody sat at the broker before: its settings are confirmed now.
  await confirmSettings(seat.app);
  await answerCard(await openCard(seat, names.notice.asking), names.card.allow);
  await world.signIn(await tab(seat, 1));
  const { code, stdout } = await asking.ended;
  expect(code).toBe(0);
  expect((await verdictOn(world, stdout.trim())).status).toBe(200);
  await iconShows(seat.app, 'fine');
  expect(seat.tabs()).toHaveLength(1);
});
