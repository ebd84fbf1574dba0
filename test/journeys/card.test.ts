/** The card at its worst moments, and windows full of what others chose. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { iconShows } from '../electron/rig.ts';
import { sharedCertificates } from '../support/bent/server.ts';
import { asks } from '../support/processes/program.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld, type TestWorld } from '../support/world.ts';
import { connectIn } from './connected-home.ts';
import { names } from './names.ts';
import { answerCard, button, newDesk, openCard, programOf, sharedSeat, tab } from './person.ts';

let world: TestWorld;

beforeAll(async () => {
  // The bent worlds below have the same authority.
  world = await openWorld({ certificates: await sharedCertificates() });
});

afterAll(() => world.close());

/** Notes, before the page's own scripts, whether a button could be pressed the moment it appeared. */
const noteFirstLook = (name: string): string => `new MutationObserver((_changes, observer) => {
  const found = [...document.querySelectorAll('button')].find((one) => one.textContent === '${name}');
  if (!found) return;
  window.firstLook = found.disabled ? 'disabled' : 'enabled';
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });`;

describe('a card, and names that were chosen to deceive', () => {
  const desk = sharedSeat(async (group) => {
    const opened = newDesk(world.caFile, {}, group);
    await connectIn(opened.home, 'editor', 'agent', 'helper');
    return opened;
  });

  it('answers nothing when it is loaded again, and has to be looked at again', async () => {
    const seat = desk.current();
    const program = await programOf(seat, 'editor');
    const tabs = seat.tabs().length;
    const { resource } = world.protectedServer;
    const asking = asks(program, { resource });
    let isAnswered = false;
    const answered = asking.finally(() => (isAnswered = true));
    answered.catch(() => undefined);
    const card = await openCard(seat, names.notice.asking);
    const allow = button(card, names.card.allow);
    await expect.poll(() => allow.isEnabled()).toBe(true);
    await card.addInitScript(noteFirstLook(names.card.allow));
    await card.reload();
    await allow.waitFor();
    expect(await card.evaluate('window.firstLook')).toBe('disabled');
    expect(isAnswered).toBe(false);
    await iconShows(seat.app, names.icon.waiting);
    await answerCard(card, names.card.allow);
    await world.signIn(await tab(seat, tabs + 1));
    expect((await verdictOn(world, (await answered).access_token)).status).toBe(200);
  });
});
