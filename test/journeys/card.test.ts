/** A card that is loaded again, and one whose denial is remembered. */
import { expect, it } from 'vitest';
import { iconShows } from '../electron/rig.ts';
import { ofFile } from '../support/lasting.ts';
import { asks } from '../support/processes/program.ts';
import { openWorld } from '../support/world.ts';
import { signInFor } from './connected-home.ts';
import { names } from './names.ts';
import { button, newDesk, openCard, programOf, sitDown } from './person.ts';

const world = ofFile(() => openWorld());

/** Notes, before the page's own scripts, whether a button could be pressed the moment it appeared. */
const noteFirstLook = (name: string): string => `new MutationObserver((_changes, observer) => {
  const found = [...document.querySelectorAll('button')].find((one) => one.textContent === '${name}');
  if (!found) return;
  window.firstLook = found.disabled ? 'disabled' : 'enabled';
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });`;

it('a card that is loaded again restarts, and stays after a remembered denial', async () => {
  const desk = newDesk(world.caFile);
  await signInFor(desk.home, { agent: undefined });
  const seat = await sitDown(desk);
  const asking = asks(await programOf(seat, 'agent'), { resource: world.protectedServer.resource });
  let isAnswered = false;
  asking.catch(() => undefined).finally(() => (isAnswered = true));
  const card = await openCard(seat, names.notice.asking);
  const allow = button(card, names.card.allow);
  await expect.poll(() => allow.isEnabled()).toBe(true);
  await card.addInitScript(noteFirstLook(names.card.allow));
  await card.reload();
  await allow.waitFor();
  expect(await card.evaluate('window.firstLook')).toBe('disabled');
  expect(isAnswered).toBe(false);
  await iconShows(seat.app, 'waiting');
  await card.getByLabel('Don’t ask again').check();
  await button(card, names.card.refuse).click();
  await expect(asking).rejects.toMatchObject({ reason: 'consent_denied' });
  // After a remembered denial the window stays: it offers to undo it.
  await button(card, 'Undo').click();
  await card.getByText('agent can ask for').waitFor();
});
