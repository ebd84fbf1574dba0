/** Delegations: what a child run gets, and everything that ends it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClientProcess, ProcessState } from '../../../src/broker/questions/client-process.ts';
import type { Delegated, DelegationRequest } from '../../../src/broker/delegating.ts';
import { openWorld } from '../../support/world.ts';
import type { TestWorld } from '../../support/world.ts';
import { asClient } from '../../rules/wire.ts';
import { brokerRig, inWorld, refusal } from '../rig.ts';
import type { Rig } from '../rig.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.close());

const minute = 60_000;
const both = ['notes:read', 'notes:write'];

function processNamed(run: string): ClientProcess & { standing: ProcessState } {
  const asker = {
    run,
    standing: 'same' as ProcessState,
    look: () => ({ run, verified: true, pid: 7, standing: () => asker.standing }),
  };
  return asker;
}

/** `editor` has a token with both scopes, and an hour unless it is told otherwise. */
async function withToken(): Promise<Rig> {
  const rig = await brokerRig(inWorld(world));
  await rig.allow('editor', both);
  await rig.ask({ scope: both });
  return rig;
}

const delegate = (rig: Rig, request: Partial<DelegationRequest> = {}): Promise<Delegated> =>
  rig.broker.delegating.begin({
    clientId: 'editor',
    asker: processNamed('parent'),
    endpoint: rig.endpoint,
    lifetime: 10 * minute,
    name: 'helper',
    ...request,
  });

const asChild = (rig: Rig, { child }: Delegated, request: object = {}) =>
  rig.ask({ clientId: child.id, asker: processNamed('child'), ...request });

const over = { reason: 'consent_required', hint: expect.stringContaining('lease.delegate') as string };

describe('a delegation', () => {
  it('a delegation gives a child the scopes that were named, of the same grant, with no sign-in and no question', async () => {
    const rig = await withToken();
    const given = await delegate(rig, { scope: ['notes:read'] });
    const token = await asChild(rig, given);
    expect(token).toMatchObject({ scope: ['notes:read'], account: given.account });
    expect(rig.pages).toHaveLength(1);
    expect(await refusal(asChild(rig, given, { scope: ['notes:write'] }))).toMatchObject(over);
    expect(await refusal(asChild(rig, given, { resource: `${rig.endpoint}/other` }))).toMatchObject(over);
    expect(rig.parts.interactions.list()).toEqual([]);
    // Without scopes it is all that the program has there.
    expect((await asChild(rig, await delegate(rig))).scope.toSorted()).toEqual(both);
  });

  it('a delegation gives no more than the program has: not its scopes, not its time, not another account, and not what it has for one token', async () => {
    const rig = await brokerRig(inWorld(world));
    expect(await refusal(delegate(rig))).toMatchObject({ reason: 'consent_required' });
    await rig.allow('editor', ['notes:read']);
    expect(await refusal(delegate(rig))).toMatchObject({ reason: 'login_required' });
    await rig.ask({ scope: ['notes:read'] });
    expect(await refusal(delegate(rig, { scope: both }))).toMatchObject({ reason: 'consent_required' });
    expect(await refusal(delegate(rig, { account: 'bob' }))).toMatchObject({ reason: 'login_required' });
    expect(await refusal(delegate(rig, { clientId: 'other' }))).toMatchObject({ reason: 'consent_required' });

    const once = await brokerRig(inWorld(world));
    const asker = processNamed('parent');
    const asked = once.ask({ asker });
    once.parts.interactions.answer((await once.question('allow')).id, 'yes', { run: true, once: true });
    await asked;
    expect(await refusal(delegate(once, { asker }))).toMatchObject({ reason: 'consent_required' });

    const timed = await brokerRig(inWorld(world));
    const waiting = timed.ask();
    timed.parts.interactions.answer((await timed.question('allow')).id, 'yes', { time: 5 * minute });
    await waiting;
    const { permission } = await delegate(timed);
    expect(permission.until).toBe(timed.clock.wall() + 5 * minute);
  });

  it('a delegation is over with its time', async () => {
    const rig = await withToken();
    const given = await delegate(rig);
    await asChild(rig, given);
    rig.clock.advance(10 * minute);
    expect(await refusal(asChild(rig, given))).toMatchObject(over);
  });

  it('a delegation is over for good once the program loses what stands behind it, also if it gets that back', async () => {
    const rig = await withToken();
    const ended = await delegate(rig);
    await rig.parts.permissions.end('editor', rig.endpoint);
    await rig.allow('editor', both);
    await rig.ask({ scope: both });
    expect(await refusal(asChild(rig, ended))).toMatchObject(over);

    const wide = await delegate(rig);
    const narrow = await delegate(rig, { scope: ['notes:read'] });
    await rig.allow('editor', ['notes:read']);
    expect(await refusal(asChild(rig, wide))).toMatchObject(over);
    expect((await asChild(rig, narrow)).scope).toEqual(['notes:read']);
    await rig.parts.permissions.endAllOf('editor');
    expect(await refusal(asChild(rig, narrow))).toMatchObject(over);
    expect(rig.parts.clients.children()).toEqual([]);
  });

  it('a delegation of a run ends with that run, and with what that process runs', async () => {
    const rig = await brokerRig(inWorld(world));
    const parent = processNamed('parent');
    const asked = rig.ask({ asker: parent });
    rig.parts.interactions.answer((await rig.question('allow')).id, 'yes', { run: true });
    await asked;
    const first = await delegate(rig, { asker: parent });
    await asChild(rig, first);
    parent.standing = 'changed';
    expect(await refusal(asChild(rig, first))).toMatchObject(over);
    parent.standing = 'same';
    const second = await delegate(rig, { asker: parent });
    rig.broker.consent.endRun('parent');
    expect(await refusal(asChild(rig, second))).toMatchObject(over);
  });

  it('a child delegates on, at most three deep, and all of them end with the first', async () => {
    const rig = await withToken();
    const first = await delegate(rig);
    const second = await delegate(rig, { clientId: first.child.id, scope: ['notes:read'] });
    const third = await delegate(rig, { clientId: second.child.id });
    expect(third.permission.scope).toEqual(['notes:read']);
    expect(rig.parts.clients.nameOf(third.child.id)).toBe(
      `${rig.parts.clients.nameOf('editor')} › helper › helper › helper`,
    );
    await asChild(rig, third);
    expect(await refusal(delegate(rig, { clientId: third.child.id }))).toMatchObject({
      reason: 'not_permitted',
    });
    expect(await refusal(delegate(rig, { clientId: second.child.id, scope: ['notes:write'] }))).toMatchObject(
      over,
    );

    expect(rig.broker.delegating.end('editor', first.child.id)).toHaveLength(3);
    for (const each of [first, second, third]) expect(await refusal(asChild(rig, each))).toMatchObject(over);
    expect(() => rig.broker.delegating.end('editor', first.child.id)).toThrow('No delegation');
  });

  it('a child has nothing but its delegation: nobody is asked for it, and it has no key, no permission and no name of its own', async () => {
    const rig = await withToken();
    const given = await delegate(rig);
    const { id } = given.child;
    // A permission in its name would count for nothing.
    await rig.allow(id, both);
    rig.broker.delegating.endChild(id);
    expect(await refusal(asChild(rig, given, { interaction: 'allow' }))).toMatchObject(over);
    expect(rig.parts.interactions.list()).toEqual([]);
    expect(rig.parts.clients.isListed(id)).toBe(false);
    expect(await refusal(delegate(rig, { name: 'helper\u200b' }))).toMatchObject({
      reason: 'invalid_request',
    });
  });

  it('a program has at most 64 children at a time', async () => {
    const rig = await withToken();
    for (let count = 0; count < 64; count += 1) await delegate(rig);
    expect(await refusal(delegate(rig))).toMatchObject({ reason: 'not_permitted' });
  });

  it('a pause holds for a child too, and a child can’t end another program’s delegation', async () => {
    const rig = await withToken();
    const given = await delegate(rig);
    const other = await delegate(rig);
    await expect(
      asClient(rig, given.child.id)('lease.end', { clientId: other.child.id }),
    ).rejects.toMatchObject({
      reason: 'not_found',
    });
    await asClient(rig, given.child.id)('permission.release', { resource: rig.endpoint });
    expect(await refusal(asChild(rig, given))).toMatchObject(over);
    rig.parts.pause.begin({ since: rig.clock.wall() });
    expect(await refusal(asChild(rig, other))).toMatchObject({ reason: 'paused' });
    expect(await refusal(delegate(rig))).toMatchObject({ reason: 'paused' });
  });
});
