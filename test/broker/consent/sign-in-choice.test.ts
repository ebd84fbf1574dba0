/** Which sign-in serves a request: what the permission names, and a program's own sign-in for no other program. */
import { describe, expect, it } from 'vitest';
import { chooseSignIn, signInsOfAccount, reaches } from '../../../src/broker/consent/sign-in-choice.ts';
import type { SignIn } from '../../../src/broker/records/sign-in.ts';
import type { SignIns } from '../../../src/broker/records/sign-ins.ts';
import type { Permission } from '../../../src/broker/records/permission.ts';
import { signInOf, nowhere } from '../nowhere.ts';
import { brokerRig } from '../rig.ts';

const { endpoint } = nowhere;
const editor = { appId: 'editor', endpoint };
const allowed: Permission = { ...editor, decision: 'allow', createdAt: 0 };

/** Accounts and the special fields of their sign-ins, the oldest first. */
async function signInsOf(accounts: Readonly<Record<string, Partial<SignIn>>>): Promise<SignIns> {
  const { signIns } = (await brokerRig(nowhere)).parts;
  let createdAt = 0;
  for (const [account, special] of Object.entries(accounts)) {
    await signIns.add(signInOf(account, { createdAt: (createdAt += 1), ...special }));
  }
  return signIns;
}

const idOf = (signIns: SignIns, account: string) => signIns.forEndpoint(endpoint, account)[0]?.id ?? '';

const there = (signIns: SignIns): SignIn[] => signIns.forEndpoint(endpoint);

/** What is chosen, by its account. */
function chosen(
  signIns: SignIns,
  asked: Partial<typeof editor> & { readonly account?: string } = {},
  ...permissions: Permission[]
): string {
  const choice = chooseSignIn(there(signIns), { ...editor, ...asked }, permissions);
  if (choice.kind === 'mustSignIn') return 'signIn';
  if (choice.kind === 'unknownAccount') return `unknown ${choice.account}, beside ${choice.known.join(' ')}`;
  if (choice.kind === 'choose') return `choose of ${choice.accounts.join(' ')}`;
  return `${choice.kind} ${choice.signIn.account}`;
}

const revoked = { state: { kind: 'revoked', receipt: 'confirmed', endedAt: 0 } } as const;

describe('a permission that names sign-ins', () => {
  it('of several accounts is served by the one that request or user names', async () => {
    const signIns = await signInsOf({ alice: {}, bob: {}, carol: {} });
    const both = { ...allowed, signInIds: [idOf(signIns, 'alice'), idOf(signIns, 'bob')] };
    expect(chosen(signIns, {}, both)).toBe('choose of alice bob');
    expect(chosen(signIns, {}, { ...both, account: 'alice' })).toBe('use alice');
    expect(chosen(signIns, {}, { ...both, account: 'bob' })).toBe('use bob');
    expect(chosen(signIns, { account: 'bob' }, { ...both, account: 'alice' })).toBe('use bob');
    expect(chosen(signIns, { account: 'bob' }, both)).toBe('use bob');
    expect(chosen(signIns, { account: 'carol' }, both)).toBe('ask carol');
    expect(chosen(signIns, { account: 'dora' }, both)).toBe('unknown dora, beside alice bob');
  });

  it('waits for the account that the user chose, whatever others it names', async () => {
    const signIns = await signInsOf({ alice: revoked, bob: {}, carol: {} });
    const [alice, bob, carol] = ['alice', 'bob', 'carol'].map((account) => idOf(signIns, account));
    const had = { ...allowed, account: 'alice', signInIds: [alice ?? '', bob ?? ''] };
    expect(chosen(signIns, {}, had)).toBe('signIn');
    expect(chosen(signIns, {}, { ...had, signInIds: [...had.signInIds, carol ?? ''] })).toBe('signIn');
    // Under another name by now, it is not known which one was chosen.
    expect(chosen(signIns, {}, { ...had, account: 'gone' })).toBe('use bob');
  });

  it('yields to a temporary of the same account if its own must be renewed', async () => {
    const signedOut = { account: 'alice', state: { kind: 'signInRequired', why: '' } } as const;
    const moved = { account: 'alice', issuer: 'https://new.example' };
    const signIns = await signInsOf({ old: signedOut, new: moved, bob: {} });
    const [old = '', fresh = '', bob = ''] = signIns
      .all()
      .toSorted((one, other) => one.createdAt - other.createdAt)
      .map(({ id }) => id);
    const kept = { ...allowed, signInIds: [old] };
    const usedWith = (id: string) =>
      chooseSignIn(there(signIns), editor, [kept, { ...allowed, signInIds: [id], until: 1 }]);
    expect(usedWith(fresh)).toMatchObject({ kind: 'use', signIn: { id: fresh } });
    expect(usedWith(bob)).toMatchObject({ kind: 'use', signIn: { id: old } });
  });
});

describe('a permission that names none yet', () => {
  it('a permission that names no sign-in yet takes the only living one of its resource', async () => {
    const signIns = await signInsOf({
      old: revoked,
      alice: {},
      other: { resource: 'https://notes.example' },
    });
    expect(chosen(signIns, {}, { ...allowed, resource: endpoint })).toBe('use alice');
  });

  it('leaves the account to the user if there are several', async () => {
    const signIns = await signInsOf({ alice: {}, bob: { state: { kind: 'signInRequired', why: '' } } });
    expect(chosen(signIns, {}, allowed)).toBe('choose of alice bob');
    expect(chosen(signIns, {}, { ...allowed, deniedSignInIds: [idOf(signIns, 'bob')] })).toBe('ask alice');
  });

  it('a permission does not use a sign-in that the user denied it', async () => {
    const signIns = await signInsOf({ alice: {} });
    expect(chosen(signIns, {}, { ...allowed, deniedSignInIds: [idOf(signIns, 'alice')] })).toBe('ask alice');
  });
});

it('a sign-in that belongs to one program serves that program and no other', async () => {
  const purpose = { kind: 'narrow', appId: 'editor' } as const;
  const signIns = await signInsOf({ alice: { purpose } });
  const id = idOf(signIns, 'alice');
  expect(chosen(signIns, {}, allowed)).toBe('use alice');
  const agent = { ...allowed, appId: 'agent', signInIds: [id] };
  expect(chosen(signIns, { appId: 'agent' }, agent)).toBe('signIn');
  expect(reaches({ ...allowed, signInIds: [id] }, signIns.byId(id) ?? expect.fail())).toBe(true);
  expect(reaches(agent, signIns.byId(id) ?? expect.fail())).toBe(false);
  const named = { ...editor, account: 'alice' };
  expect(signInsOfAccount(signIns, named)).toEqual([id]);
  expect(() => signInsOfAccount(signIns, { ...named, appId: 'agent' })).toThrow(
    expect.objectContaining({ reason: 'not_found' }),
  );
});
