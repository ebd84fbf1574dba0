/** A program that names no scopes: the card says what it would get, and it gets no more than that. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorld } from '../support/world.ts';
import type { TestWorld } from '../support/world.ts';
import { brokerRig, inWorld, turnOfEvents } from '../broker/rig.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.close());

describe('a program that names no scopes', () => {
  it('gets nothing that the grant came to have after its card', async () => {
    const rig = await brokerRig(inWorld(world));
    await rig.allow('other');
    await rig.login({ scope: ['notes:read'] });
    const asked = rig.ask();
    const card = await rig.question('allow');
    await rig.ask({ appId: 'other', scope: ['notes:write'] });
    rig.parts.interactions.answer(card.id, 'yes');
    expect((await asked).scope).toEqual(['notes:read']);
    rig.clock.advance(3_600_000);
    expect((await rig.ask({ interaction: 'never' })).scope).toEqual(['notes:read']);
  });

  it('is asked about again after a sign-in, if its card listed no scopes', async () => {
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
