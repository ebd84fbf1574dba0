/** Another account at a server that a program may reach: its tokens never go to that program without the person's yes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorld } from '../support/world.ts';
import type { TestWorld } from '../support/world.ts';
import { brokerRig, inWorld, refusal } from '../broker/rig.ts';
import type { Rig } from '../broker/rig.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.close());

const openid = ['openid', 'notes:read'];

/** `editor` works as alice. */
async function victim(): Promise<Rig> {
  const rig = await brokerRig(inWorld(world));
  await rig.allow();
  await rig.login({ scope: openid });
  expect((await rig.ask()).account).toBe('alice');
  rig.clock.advance(1000);
  return rig;
}

/** A second grant stands at the same endpoint, newer than the first. */
async function bobIsKept(rig: Rig): Promise<void> {
  rig.person.account = 'bob';
  await rig.login({ scope: openid });
  expect(rig.parts.grants.all().map(({ account }) => account)).toEqual(['alice', 'bob']);
}

describe('a second grant at a program’s server', () => {
  it('gives the program nothing: it stays with the grant that it got its first token of', async () => {
    const rig = await victim();
    await bobIsKept(rig);
    expect((await rig.ask({ interaction: 'never' })).account).toBe('alice');
    rig.clock.advance(3_600_000);
    expect((await rig.ask({ interaction: 'never' })).account).toBe('alice');
  });

  it('gives the program nothing where it names the account, without a card', async () => {
    const rig = await victim();
    await bobIsKept(rig);
    expect(await refusal(rig.ask({ account: 'bob', interaction: 'never' }))).toMatchObject({
      reason: 'consent_required',
    });
    const asked = refusal(rig.ask({ account: 'bob' }));
    const card = await rig.question('allow');
    expect(card.question).toMatchObject({ endpoint: rig.endpoint });
    rig.parts.interactions.answer(card.id, 'no');
    expect(await asked).toMatchObject({ reason: 'consent_denied' });
    expect((await rig.ask()).account).toBe('alice');
  });

  it('gives nothing under what was allowed for a time either', async () => {
    const rig = await brokerRig(inWorld(world));
    await rig.login({ scope: openid });
    const first = rig.ask();
    rig.parts.interactions.answer((await rig.question('allow')).id, 'yes', { time: 3_600_000 });
    expect((await first).account).toBe('alice');
    rig.clock.advance(1000);
    await bobIsKept(rig);
    expect((await rig.ask({ interaction: 'never' })).account).toBe('alice');
    expect(await refusal(rig.ask({ account: 'bob', interaction: 'never' }))).toMatchObject({
      reason: 'consent_required',
    });
  });

  it('is not taken in place of the first one when that was revoked', async () => {
    const rig = await victim();
    await bobIsKept(rig);
    const [alice] = rig.parts.grants.all();
    await rig.parts.grants.change(alice ?? rig.grant(), {
      state: { kind: 'revoked', receipt: 'notOffered' },
    });
    expect(await refusal(rig.ask({ interaction: 'never' }))).toMatchObject({ reason: 'consent_required' });
  });
});
