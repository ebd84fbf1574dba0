/** Another program of the same user keeps a broker running on a copy of the home, while the person takes access away. */
import { expect, it, onTestFinished } from 'vitest';
import { brokerRig, inWorld, refusal } from '../broker/rig.ts';
import { openWorld } from '../support/world.ts';

it('a broker on a copy of the home gives a denied program nothing from its next refresh on', async () => {
  const world = await openWorld();
  onTestFinished(() => world.close());
  const copy = await brokerRig(inWorld(world));
  await copy.login();
  await copy.allow();
  await copy.ask();
  const home = await brokerRig(inWorld(world), { after: copy });
  const denial = { clientId: 'editor', endpoint: home.endpoint, decision: 'deny', createdAt: 0 } as const;
  await home.broker.consent.decide(denial);
  copy.clock.advance(3_600_000);
  const before = copy.fetched.length;
  const error = { reason: 'vault_unreadable', message: expect.stringContaining('another broker') };
  expect(await refusal(copy.ask())).toMatchObject(error);
  expect(await refusal(copy.ask())).toMatchObject(error);
  expect(copy.fetched).toHaveLength(before);
});
