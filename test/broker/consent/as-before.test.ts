/** An approval "as before": what it adds to, and that a permission that ended in the meantime allows nothing. */
import { describe, expect, it } from 'vitest';
import { brokerRig, inWorld, refusal, type Rig } from '../rig.ts';
import { worldOfFile } from '../places.ts';

const world = worldOfFile();

const asBefore = { asBefore: true } as const;
const hour = 3_600_000;

/** The app may read there, until then, and asks to write. `id`: the card of that request. */
async function asking(until?: number, appId = 'editor') {
  const rig = await brokerRig(inWorld(world));
  await rig.broker.consent.decide({
    appId,
    endpoint: rig.endpoint,
    decision: 'allow',
    scope: ['notes:read'],
    createdAt: rig.clock.wall(),
    ...(until === undefined ? {} : { until: rig.clock.wall() + until }),
  });
  const asked = rig.ask({ appId, scope: ['notes:write'] });
  asked.catch(() => undefined);
  return { rig, asked, id: (await rig.question('allow')).id };
}

const kept = (rig: Rig, appId = 'editor') =>
  rig.parts.permissions.find(appId, rig.endpoint, rig.clock.wall());

describe('an approval "as before"', () => {
  it.each([
    ['editor', 'without end', undefined],
    ['cli', 'without end', undefined],
    ['editor', 'with its end', hour],
  ])('adds to the permission of %s that exists, %s', async (appId, _what, until) => {
    const { rig, id, asked } = await asking(until, appId);
    const end = kept(rig, appId)?.until;
    rig.parts.approvalRequests.answer(id, 'approve', asBefore);
    expect((await asked).scope).toContain('notes:write');
    expect(kept(rig, appId)).toMatchObject({ decision: 'allow', scope: ['notes:read', 'notes:write'] });
    expect(kept(rig, appId)?.until).toBe(end);
    expect(rig.parts.temporaryPermissions.of('editor', rig.clock.wall())).toEqual([]);
  });

  it('allows nothing if the earlier permission ends right after it', async () => {
    const { rig, id, asked } = await asking();
    rig.parts.approvalRequests.answer(id, 'approve', asBefore);
    const ending = rig.parts.permissions.revoke('editor', rig.endpoint);
    expect(await refusal(asked)).toMatchObject({ reason: 'consent_required' });
    expect(await ending).toBe(true);
    await rig.parts.audit.flush();
    expect(rig.texts().join('\n')).toContain('"outcome":"void"');
  });

  // The approval can be at any step on its way to the disk by then.
  it.each(Array.from({ length: 12 }, (_none, steps) => steps))(
    'leaves no part of a permission that was ended %i steps after it',
    async (steps) => {
      const { rig, id, asked } = await asking();
      rig.parts.approvalRequests.answer(id, 'approve', asBefore);
      for (let step = 0; step < steps; step += 1) await Promise.resolve();
      expect(await rig.parts.permissions.revoke('editor', rig.endpoint)).toBe(true);
      await asked.catch(() => undefined);
      expect(kept(rig)).toBeUndefined();
      expect(rig.parts.temporaryPermissions.of('editor', rig.clock.wall())).toEqual([]);
    },
  );
});
