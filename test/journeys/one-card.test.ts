/** What one run of an app asks in one breath: one card, one press, and an answer of its own for each request. */
import type { Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { throwAwayCertificates } from '../../src/serve/certificate.ts';
import { until } from '../support/home.ts';
import { questionsAt } from '../support/homes/ask-broker.ts';
import { asks } from '../support/processes/program.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld, type TestWorld } from '../support/world.ts';
import { connectIn } from './connected-home.ts';
import { names } from './names.ts';
import { answerCard, button, newDesk, openCard, openMain, programOf, sharedSeat, tab } from './person.ts';

/** Servers, each with a sign-in provider of its own, under one authority. */
let one: TestWorld;
let other: TestWorld;
let joined: TestWorld;

beforeAll(async () => {
  const certificates = await throwAwayCertificates();
  const open = (): Promise<TestWorld> => openWorld({ certificates });
  [one, other, joined] = await Promise.all([open(), open(), open()]);
});
afterAll(() => Promise.all([one, other, joined].map((world) => world.close())));

const third = 'https://third.example/mcp';

const serverTick = (card: Page, resource: string) =>
  card.getByRole('checkbox', { name: resource, exact: true });

describe('what one run of an app asks in one breath', () => {
  const desk = sharedSeat(async (group) => {
    const opened = newDesk(one.caFile, {}, group);
    await connectIn(opened.home, 'editor', 'agent');
    return opened;
  });

  it('is allowed by one press, without the server that was left out', async () => {
    const seat = desk.current();
    const program = await programOf(seat, 'editor');
    const before = seat.tabs().length;
    const [first, second] = [one, other].map(({ protectedServer }) =>
      asks(program, { resource: protectedServer.resource, scope: 'notes:read' }),
    );
    const leftOut = asks(program, { resource: third });
    const card = await openCard(seat, names.notice.askingThree);
    await card.getByRole('heading', { name: names.card.three }).waitFor();
    await serverTick(card, third).uncheck();
    await card.evaluate(`window.presses = 0;
      document.addEventListener('pointerdown', () => { window.presses += 1; }, true);`);
    await card.getByLabel(names.card.untilRevoked).check();
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
    const entries = main.locator('.entry', { hasText: names.activity.access }).filter({ hasText: 'editor' });
    const allowed = entries.filter({ hasText: names.activity.allowed });
    await allowed.first().waitFor();
    const rows = (await allowed.allInnerTexts()).join(' ');
    for (const { protectedServer } of [one, other]) expect(rows).toContain(protectedServer.resource);
    expect(await allowed.count()).toBe(2);
    expect(rows).not.toContain(third);
  });

  it('starts anew when more of it comes, and loses what a command answers', async () => {
    const seat = desk.current();
    const program = await programOf(seat, 'agent');
    const before = seat.tabs().length;
    const { resource } = joined.protectedServer;
    const asking = asks(program, { resource, scope: 'notes:read' });
    const card = await openCard(seat, names.notice.asking);
    await until('it may be allowed', () => button(card, names.card.allow).isEnabled());
    const joining = asks(program, { resource: third, scope: 'a b' });
    const another = seat.home.start(['token', resource]);
    await card.getByRole('heading', { name: names.card.two }).waitFor();
    await card.getByText(names.card.changed).waitFor();
    // A command that asks for a token is another run, and another program.
    await card.getByText(names.card.firstOfTwo).waitFor();
    await until('it may be allowed again', async () => {
      for (const end of await card.locator('.question .end').all()) await end.scrollIntoViewIfNeeded();
      return button(card, names.card.allow).isEnabled();
    });
    const { id = '' } =
      (await questionsAt(seat.home)).find((open) => 'resource' in open && open.resource === third) ?? {};
    await seat.home.ok(['request', 'deny', id, '--remember']);
    await expect(joining).rejects.toMatchObject({ reason: 'consent_denied' });
    await serverTick(card, third).waitFor({ state: 'detached' });
    await answerCard(card, names.card.allow);
    await joined.signIn(await tab(seat, before + 1));
    await asking;
    await until('the card of the command', () => button(card, names.card.refuse).isVisible());
    await answerCard(card, names.card.refuse);
    expect((await another.ended).stdout).toBe('');
  });
});
