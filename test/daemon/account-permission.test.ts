/** A permission to which a command adds an account alone: its scopes and its end are those that the card showed. */
import { describe, expect, it } from 'vitest';
import type { Approvals } from '../../src/daemon/approvals/approvals.ts';
import { signInOf, nowhere } from '../broker/nowhere.ts';
import { brokerRig, refusal } from '../broker/rig.ts';
import { asOwner } from '../rules/wire.ts';
import { approvalsAt } from './approvals/rig.ts';

const { endpoint } = nowhere;
const place = { app: 'editor', resource: endpoint };
const adding = { ...place, decision: 'allow', account: 'work' } as const;

/** `editor` may read for a minute as `alice`; `work` is signed in there too. */
async function ground() {
  const rig = await brokerRig(nowhere);
  const { broker, parts, clock } = rig;
  const { id: appId } = await parts.apps.add('editor', clock.wall());
  const alice = await parts.signIns.add(signInOf('alice', { subject: 'alice' }));
  const work = await parts.signIns.add(signInOf('work', { subject: 'work' }));
  const until = clock.wall() + 60_000;
  const scope = ['read'];
  const held = { appId, endpoint, scope, until, signInIds: [alice.id], createdAt: clock.wall() };
  await parts.permissions.set({ ...held, decision: 'allow' });
  const approvals = approvalsAt(broker);
  const approve: Approvals['require'] = (...request) => approvals.require(...request);
  const standing = () => parts.permissions.of(appId, clock.wall());
  return { ...rig, approve, standing, work, alice, until };
}

/** The command of somebody at a desk, which raises a card. */
async function asked() {
  const rig = await ground();
  const set = asOwner(rig, { approve: rig.approve })('permission.set', adding);
  set.catch(() => undefined);
  const { id, question } = await rig.question('command');
  const until = Math.floor(rig.until / 1000);
  expect(question).toMatchObject({ request: { scope: 'read', until, account: 'work' } });
  return { ...rig, set, approve: () => rig.parts.approvalRequests.answer(id, 'approve') };
}

describe('an account that a command adds to a permission', () => {
  it('is added with the scopes and the expiry that the card showed', async () => {
    const { set, approve, standing, alice, work, until } = await asked();
    approve();
    await set;
    expect(standing()).toMatchObject([{ scope: ['read'], until, signInIds: [alice.id, work.id] }]);
  });

  it('is not added where the permission was ended while the card waited', async () => {
    const { set, approve, standing, ...rig } = await asked();
    await asOwner(rig)('permission.revoke', place);
    approve();
    expect(await refusal(set)).toMatchObject({ reason: 'conflict' });
    expect(standing()).toEqual([]);
  });

  it('is not added, without the app, if the permission ends before it is written', async () => {
    const rig = await ground();
    const { permissions } = rig.parts;
    const write = permissions.set.bind(permissions);
    permissions.set = async (...change) => {
      await asOwner(rig)('permission.revoke', place);
      await write(...change);
    };
    const set = asOwner(rig)('permission.set', adding);
    expect(await refusal(set)).toMatchObject({ reason: 'conflict' });
    expect(rig.standing()).toEqual([]);
  });
});
