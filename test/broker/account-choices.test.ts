/** Which of its accounts a program uses, and what the user is asked once. */
import { describe, expect, it } from 'vitest';
import type { SignIn } from '../../src/broker/records/sign-in.ts';
import { revokeSignIn } from '../../src/broker/revocation/revoker.ts';
import { brokerRig, inWorld, refusal, type Rig } from './rig.ts';
import { worldOfFile } from './places.ts';

const world = worldOfFile();

async function signIn(rig: Rig, who: string, account: string): Promise<SignIn> {
  rig.person.account = who;
  return rig.login({ account });
}

/** `editor` may use both accounts, and none is chosen for a request that names none. */
async function twoAccounts(options: Parameters<typeof brokerRig>[1] = {}) {
  const rig = await brokerRig(inWorld(world), options);
  const work = await signIn(rig, 'alice', 'work');
  const home = await signIn(rig, 'bob', 'home');
  await allow(rig, [work, home]);
  return { rig, work, home };
}

const allow = (rig: Rig, signIns: readonly SignIn[], appId = 'editor'): Promise<void> =>
  rig.broker.consent.decide({
    appId,
    endpoint: rig.endpoint,
    decision: 'allow',
    createdAt: rig.clock.wall(),
    signInIds: signIns.map(({ id }) => id),
  });

async function answer(rig: Rig, verdict: 'approve' | 'deny' | 'dismiss', account?: string) {
  const { id, question } = await rig.question('choice');
  rig.parts.approvalRequests.answer(id, verdict, account === undefined ? {} : { account });
  return question;
}

it('a program that names none of several accounts is asked about once', async () => {
  const { rig } = await twoAccounts();
  const asked = rig.ask();
  const question = await answer(rig, 'approve', 'home');
  expect(question).toMatchObject({ accounts: ['work', 'home'] });
  expect(await asked).toMatchObject({ account: 'home' });
  expect(await rig.ask({ interaction: 'never' })).toMatchObject({ account: 'home' });
  expect(await rig.ask({ account: 'work', interaction: 'never' })).toMatchObject({ account: 'work' });
});

it('an approval for an hour adds an account to a permission without an end', async () => {
  const { rig, work } = await twoAccounts();
  await allow(rig, [work], 'cli');
  const cli = { appId: 'cli' };
  expect(await rig.ask(cli)).toMatchObject({ account: 'work' });
  const kept = rig.parts.permissions.of('cli', rig.clock.wall());
  const asked = rig.ask({ ...cli, account: 'home' });
  rig.parts.approvalRequests.answer((await rig.question('allow')).id, 'approve');
  expect(await asked).toMatchObject({ account: 'home' });
  expect(rig.parts.permissions.of('cli', rig.clock.wall())).toEqual(kept);
  expect(kept[0]).not.toHaveProperty('until');
  expect(await rig.ask({ ...cli, interaction: 'never' })).toMatchObject({ account: 'work' });
  rig.clock.advance(3_600_000);
  const later = refusal(rig.ask({ ...cli, account: 'home', interaction: 'never' }));
  expect(await later).toMatchObject({ reason: 'consent_required' });
  expect(await rig.ask({ ...cli, interaction: 'never' })).toMatchObject({ account: 'work' });
});

describe('a program that was allowed without an account, where several are signed in', () => {
  /** `editor` may have any scope until the owner ends it, as `keyturn app allow` without an account says. */
  async function unnamed() {
    const ground = await twoAccounts();
    await ground.rig.parts.permissions.revoke('editor', ground.rig.endpoint);
    await allow(ground.rig, []);
    const permission = () => ground.rig.parts.permissions.of('editor', ground.rig.clock.wall())[0];
    return { ...ground, permission };
  }

  it('is asked about once, and keeps its scopes and its end', async () => {
    const { rig, home, permission } = await unnamed();
    const asked = rig.ask();
    expect(await answer(rig, 'approve', 'home')).toMatchObject({ accounts: ['work', 'home'] });
    expect(await asked).toMatchObject({ account: 'home' });
    expect(permission()).toMatchObject({ signInIds: [home.id], account: 'home' });
    expect(permission()).not.toHaveProperty('scope');
    expect(permission()).not.toHaveProperty('until');
    expect(await rig.ask({ interaction: 'never' })).toMatchObject({ account: 'home' });
    expect(await refusal(rig.ask({ account: 'work', interaction: 'never' }))).toMatchObject({
      reason: 'consent_required',
    });
  });

  it('gets no account but the chosen one, even if that ended before the answer', async () => {
    const { rig, home, permission } = await unnamed();
    const asked = refusal(rig.ask());
    await rig.question('choice');
    await revokeSignIn(rig.parts, home);
    await answer(rig, 'approve', 'home');
    expect(await asked).toMatchObject({
      reason: 'login_required',
      message: expect.stringContaining('The sign-in as "home"'),
    });
    expect(permission()).not.toHaveProperty('account');
  });
});
