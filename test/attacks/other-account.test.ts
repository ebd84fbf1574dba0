/** What the sign-ins at a server give no program without the user’s approval: another account, and scopes beyond the card. */
import { describe, expect, it } from 'vitest';
import { signInMethods } from '../../src/daemon/methods/sign-in-methods.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { openWorld } from '../support/world.ts';
import { brokerRig, inWorld, refusal, type Rig, turnOfEvents } from '../broker/rig.ts';
import { ofFile } from '../support/lasting.ts';

const world = ofFile(() => openWorld());

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

/** A second sign-in stands at the same endpoint, newer than the first: the user approved it. */
async function bobIsKept(rig: Rig): Promise<void> {
  rig.person.account = 'bob';
  const login = rig.login({ scope: openid });
  const asked = rig.question('account').then(({ id }) => rig.parts.approvalRequests.answer(id, 'approve'));
  await Promise.race([login, asked]);
  await login;
  expect(rig.parts.signIns.all().map(({ account }) => account)).toEqual(['alice', 'bob']);
}

describe('a second sign-in at a program’s server', () => {
  it('is not named to the program, whichever account it asks about', async () => {
    const rig = await victim();
    await bobIsKept(rig);
    const explain = signInMethods['signIn.show'];
    // The refusal comes before anything else of them is needed.
    const host = { broker: rig.broker } as Parameters<typeof explain>[0];
    const editor = { role: 'app', appId: 'editor' } as Parameters<typeof explain>[1];
    for (const account of ['bob', 'carol']) {
      const asked = Promise.resolve(explain(host, editor, { resource: rig.endpoint, account }));
      expect(await refusal(asked)).toMatchObject({
        reason: 'not_found',
        hint: 'The accounts there: "alice".',
      });
    }
  });

  it('is not taken in place of the first one when that was revoked', async () => {
    const rig = await victim();
    await bobIsKept(rig);
    const [alice] = rig.parts.signIns.all();
    await rig.parts.signIns.change(alice ?? rig.signIn(), {
      state: { kind: 'revoked', receipt: 'notOffered', endedAt: 0 },
    });
    expect(await refusal(rig.ask({ interaction: 'never' }))).toMatchObject({ reason: 'login_required' });
  });
});

const accounts = ({ parts }: Rig): string[] => parts.signIns.all().map(({ account }) => account);

/** The owner's key starts a sign-in and bob signs in. Resolves with the question's id, and the outcome to come. */
async function bobSignsIn(rig: Rig, scope: readonly string[] = openid) {
  rig.person.account = 'bob';
  const outcome = refusal(rig.login({ scope, account: 'alice' }));
  const asked = rig.question('account');
  // Without a question the sign-in is over, and `refusal` says that nothing refused it.
  await Promise.race([outcome, asked]);
  return { outcome, ...(await asked) };
}

describe('somebody else who signs in', () => {
  it('becomes no sign-in when its request is withdrawn', async () => {
    const rig = await victim();
    rig.person.account = 'bob';
    const command = new AbortController();
    const outcome = refusal(rig.login({ scope: openid, signal: command.signal }));
    await rig.question('account');
    command.abort(new KeyturnError('interrupted', 'The command went away.'));
    expect(await outcome).toMatchObject({ reason: 'interrupted' });
    await rig.broker.end();
    expect(accounts(rig)).toEqual(['alice']);
  });

  it.each([
    ['without approval', 'deny', ['alice']],
    ['if it has another name before the approval', 'approve', ['boss', 'team']],
  ] as const)('B-7: becomes no sign-in %s, and the tokens are revoked', async (_what, verdict, after) => {
    const rig = await victim();
    const { outcome, id, question } = await bobSignsIn(rig);
    expect(question).toMatchObject({
      endpoint: rig.endpoint,
      issuer: rig.signIn().issuer,
      account: 'bob',
      known: ['alice'],
    });
    expect(rig.texts().join('')).not.toContain('"bob"');
    const { signIns } = rig.parts;
    if (verdict === 'approve') {
      const alice = await signIns.update(rig.signIn().id, () => ({ account: 'boss' }));
      await signIns.add({ ...alice, account: 'team', subject: 'bob' });
    }
    rig.parts.approvalRequests.answer(id, verdict);
    expect(await outcome).toMatchObject({ reason: 'account_mismatch' });
    expect(accounts(rig)).toEqual(after);
    expect(rig.fetched.filter((url) => url.endsWith('/revoke'))).toHaveLength(2);
    expect((await rig.ask({ interaction: 'never' })).account).toBe(after[0]);
  });
});

describe('a program that names no scopes', () => {
  it('gets nothing that the sign-in came to have after its card', async () => {
    const rig = await brokerRig(inWorld(world));
    await rig.allow('other');
    await rig.login({ scope: ['notes:read'] });
    const asked = rig.ask();
    const card = await rig.question('allow');
    await rig.ask({ appId: 'other', scope: ['notes:write'] });
    rig.parts.approvalRequests.answer(card.id, 'approve');
    expect((await asked).scope).toEqual(['notes:read']);
    rig.clock.advance(3_600_000);
    expect((await rig.ask({ interaction: 'never' })).scope).toEqual(['notes:read']);
  });

  it('is asked about again after a sign-in, if its card listed no scopes', async () => {
    const rig = await brokerRig(inWorld(world));
    const asked = rig.ask();
    const card = await rig.question('allow');
    expect(card.question).toHaveProperty('scope', undefined);
    await rig.login({ scope: ['notes:read', 'notes:write'] });
    rig.parts.approvalRequests.answer(card.id, 'approve');
    // The first card closes a moment after its answer.
    await turnOfEvents();
    const next = await rig.question('allow');
    expect(next.question).toMatchObject({ scope: ['notes:read', 'notes:write'] });
    rig.parts.approvalRequests.answer(next.id, 'approve', { scope: ['notes:read'] });
    expect((await asked).scope).toEqual(['notes:read']);
  });
});
