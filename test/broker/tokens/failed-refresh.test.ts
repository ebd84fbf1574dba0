/** Sign-ins that a server ends together with one that the user revoked: an error, and no automatic page. */
import { expect, it, onTestFinished } from 'vitest';
import { revokeSignIn } from '../../../src/broker/revocation/revoker.ts';
import { openWorld } from '../../support/world.ts';
import { brokerRig, inWorld, refusal } from '../rig.ts';

/** Two sign-ins of one user at one issuer, which keeps a single authorization for both unless told otherwise. */
async function siblings({ sharesGrants = true } = {}) {
  const world = await openWorld({ sharesGrants });
  onTestFinished(() => world.close());
  const rig = await brokerRig(inWorld(world));
  await rig.allow();
  const work = await rig.login({ account: 'work' });
  const other = await rig.login({ account: 'home' });
  rig.clock.advance(1000);
  const { receipt } = await revokeSignIn(rig.parts, work);
  expect(receipt).toBe('confirmed');
  return { rig, world, other };
}

it('a sign-in that ended with a revoked one names it and its time, without a page', async () => {
  const { rig, other } = await siblings();
  rig.clock.advance(3_600_000);
  const refused = await refusal(rig.ask({ account: 'home' }));
  expect(refused).toMatchObject({
    reason: 'login_required',
    rule: 'Only you can renew a sign-in that you revoked',
    message: expect.stringMatching(
      /together with the sign-in to https:\S+ \("work"\), which you revoked at 20\S+ \S+/,
    ),
  });
  expect(rig.parts.signIns.byId(other.id)?.state).toMatchObject({ kind: 'signInRequired' });
  expect(rig.pages).toHaveLength(2);
});
