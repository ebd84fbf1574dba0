/** A card that is loaded again; and one for what one run of an app asks in one breath. */
import type { Page } from 'playwright';
import { describe, expect, it } from 'vitest';
import { iconShows } from '../electron/rig.ts';
import { ofFile } from '../support/lasting.ts';
import { asks } from '../support/processes/program.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld } from '../support/world.ts';
import { signInFor } from './connected-home.ts';
import { names } from './names.ts';
import { answerCard, button, newDesk, openCard, openMain, programOf, sharedSeat, tab } from './person.ts';

/** Servers, each with a sign-in provider of its own. */
const one = ofFile(() => openWorld());
const other = ofFile(() => openWorld());

/** Notes, before the page's own scripts, whether a button could be pressed the moment it appeared. */
const noteFirstLook = (name: string): string => `new MutationObserver((_changes, observer) => {
  const found = [...document.querySelectorAll('button')].find((one) => one.textContent === '${name}');
  if (!found) return;
  window.firstLook = found.disabled ? 'disabled' : 'enabled';
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });`;

const third = 'https://third.example/mcp';

const serverTick = (card: Page, resource: string) =>
  card.getByRole('checkbox', { name: resource, exact: true });

describe('a card', () => {
  const desk = sharedSeat(async (group) => {
    const opened = newDesk(one.caFile, {}, group);
    await signInFor(opened.home, { editor: undefined, agent: undefined });
    return opened;
  });

  it('answers nothing when it is loaded again, and has to be looked at again', async () => {
    const seat = desk.current();
    const asking = asks(await programOf(seat, 'agent'), { resource: one.protectedServer.resource });
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
    await answerCard(card, names.card.refuse);
    await expect(asking).rejects.toMatchObject({ reason: 'consent_required' });
  });

  it('allows all that one run asks by one press, without the server that was left out', async () => {
    const seat = desk.current();
    const program = await programOf(seat, 'editor');
    const before = seat.tabs().length;
    const [first, second] = [one, other].map(({ protectedServer }) =>
      asks(program, { resource: protectedServer.resource, scope: 'notes:read' }),
    );
    const leftOut = asks(program, { resource: third });
    const card = await openCard(seat, 'wants access to 3 servers');
    await card.getByRole('heading', { name: 'Allow editor to use 3 servers?' }).waitFor();
    await serverTick(card, third).uncheck();
    await card.evaluate(`window.presses = 0;
      document.addEventListener('pointerdown', () => { window.presses += 1; }, true);`);
    await card.getByLabel('Until you revoke it').check();
    expect(await card.evaluate('window.presses')).toBe(1);
    await answerCard(card, names.card.allow);
    // One sign-in after the other.
    for (const count of [1, 2]) await one.signIn(await tab(seat, before + count));
    for (const [world, asking] of [
      [one, first],
      [other, second],
    ] as const)
      expect((await verdictOn(world, (await asking)?.access_token ?? '')).status).toBe(200);
    await expect(leftOut).rejects.toMatchObject({ reason: 'consent_required' });

    const main = await openMain(seat, 'activity');
    const entries = main.locator('.entry', { hasText: 'Access' }).filter({ hasText: 'editor' });
    const allowed = entries.filter({ hasText: 'allowed' });
    await allowed.first().waitFor();
    const rows = (await allowed.allInnerTexts()).join(' ');
    for (const { protectedServer } of [one, other]) expect(rows).toContain(protectedServer.resource);
    expect(await allowed.count()).toBe(2);
    expect(rows).not.toContain(third);
  });
});
