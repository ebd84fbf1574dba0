/** Earlier tokens of a sign-in that is in use: kept to be revoked, and never without a bound. */
import { expect, it } from 'vitest';
import { RevocationQueue } from '../../../src/broker/revocation/revocation-queue.ts';
import { getIfAny } from '../../../src/vault/base/vault.ts';
import { oddServer } from '../odd-server.ts';
import { brokerRig, type Rig } from '../rig.ts';
import { lastingSite } from '../places.ts';

const site = lastingSite();

async function signedInOften(): Promise<Rig> {
  const rig = await brokerRig(oddServer(site, { scopesSupported: ['read'] }));
  for (let n = 0; n < 10; n += 1) await rig.login();
  site.asked.length = 0;
  return rig;
}

const told = (): (string | null)[] =>
  site.asked
    .filter(({ path }) => path === '/revoke')
    .map(({ body }) => new URLSearchParams(body).get('token'));

async function look(rig: Rig): Promise<RevocationQueue> {
  const queue = new RevocationQueue(rig.parts);
  queue.answered();
  await queue.settled();
  return queue;
}

it('beyond eight earlier sign-ins the oldest is revoked and its item deleted', async () => {
  const rig = await signedInOften();
  const { earlier = [] } = rig.signIn();
  expect(earlier).toHaveLength(9);
  await look(rig);
  expect(told()).toEqual(['refresh-1']);
  expect(rig.signIn()).toMatchObject({ state: { kind: 'active' }, earlier: earlier.slice(1) });
  expect(await getIfAny(rig.vault, earlier[0]?.item ?? '')).toBeUndefined();
  expect(await rig.vault.get(earlier[1]?.item ?? '')).toContain('refresh-2');
});

it('earlier sign-ins stay while their server fails, which is asked hours later', async () => {
  const rig = await signedInOften();
  site.lay('/revoke', { status: 503 });
  const queue = await look(rig);
  await queue.look();
  expect(told()).toEqual(['refresh-1']);
  expect(rig.signIn().earlier).toHaveLength(9);
  site.lay('/revoke', { status: 200 });
  rig.clock.advance(6 * 3_600_000);
  await queue.look();
  expect(told()).toEqual(['refresh-1', 'refresh-1']);
  expect(rig.signIn().earlier).toHaveLength(8);
});
