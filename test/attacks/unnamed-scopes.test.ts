/** A program that names no scopes: the card says what it would get, and it gets no more than that. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorld } from '../support/world.ts';
import type { TestWorld } from '../support/world.ts';
import { brokerRig, inWorld, turnOfEvents } from '../broker/rig.ts';
import type { Rig } from '../broker/rig.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.close());

/** The grant has what another program needed, too. */
async function grownGrant(): Promise<Rig> {
  const rig = await brokerRig(inWorld(world));
  await rig.allow('other');
  await rig.login({ scope: ['notes:read'] });
  await rig.ask({ clientId: 'other', scope: ['notes:write'] });
  return rig;
}

describe('a program that names no scopes', () => {
  it('is shown with the scopes that it would get, and with the account', async () => {
    const rig = await grownGrant();
    const asked = rig.ask();
    const card = await rig.question('allow');
    const scope = ['notes:read', 'notes:write'];
    expect(card.question).toMatchObject({ scope, grant: { account: 'default', isAnother: false } });
    rig.parts.interactions.answer(card.id, 'yes');
    expect((await asked).scope.toSorted()).toEqual(scope);
  });

  it('gets nothing that the grant came to have after its card', async () => {
    const rig = await brokerRig(inWorld(world));
    await rig.allow('other');
    await rig.login({ scope: ['notes:read'] });
    const asked = rig.ask();
    const card = await rig.question('allow');
    await rig.ask({ clientId: 'other', scope: ['notes:write'] });
    rig.parts.interactions.answer(card.id, 'yes');
    expect((await asked).scope).toEqual(['notes:read']);
    rig.clock.advance(3_600_000);
    expect((await rig.ask({ interaction: 'never' })).scope).toEqual(['notes:read']);
  });

  it('is asked about again, with the scopes, when somebody signed in after a card that could list none', async () => {
    const rig = await brokerRig(inWorld(world));
    const asked = rig.ask();
    const card = await rig.question('allow');
    expect(card.question).not.toHaveProperty('scope');
    await rig.login({ scope: ['notes:read', 'notes:write'] });
    rig.parts.interactions.answer(card.id, 'yes');
    // The first card closes a moment after its answer.
    await turnOfEvents();
    const next = await rig.question('allow');
    expect(next.question).toMatchObject({ scope: ['notes:read', 'notes:write'] });
    rig.parts.interactions.answer(next.id, 'yes', { scope: ['notes:read'] });
    expect((await asked).scope).toEqual(['notes:read']);
  });
});
