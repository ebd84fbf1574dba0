/** Which grant serves a request: what the permission names, and a program's own grant for no other program. */
import { describe, expect, it } from 'vitest';
import { chooseGrant, grantsOfAccount, reaches } from '../../../src/broker/consent/grant-choice.ts';
import type { Grant } from '../../../src/broker/records/grant.ts';
import type { Grants } from '../../../src/broker/records/grants.ts';
import type { Permission } from '../../../src/broker/records/permission.ts';
import { grantOf, nowhere } from '../nowhere.ts';
import { brokerRig } from '../rig.ts';

const { endpoint } = nowhere;
const editor = { appId: 'editor', endpoint };
const allowed: Permission = { ...editor, decision: 'allow', createdAt: 0 };

/** Accounts and the special fields of their grants, the oldest first. */
async function grantsOf(accounts: Readonly<Record<string, Partial<Grant>>>): Promise<Grants> {
  const { grants } = (await brokerRig(nowhere)).parts;
  let createdAt = 0;
  for (const [account, special] of Object.entries(accounts)) {
    await grants.add(grantOf(account, { createdAt: (createdAt += 1), ...special }));
  }
  return grants;
}

const idOf = (grants: Grants, account: string): string => grants.forEndpoint(endpoint, account)[0]?.id ?? '';

const there = (grants: Grants): Grant[] => grants.forEndpoint(endpoint);

/** What is chosen, by its account. */
function chosen(
  grants: Grants,
  asked: Partial<typeof editor> & { readonly account?: string } = {},
  ...permissions: Permission[]
): string {
  const choice = chooseGrant(there(grants), { ...editor, ...asked }, permissions);
  if (choice.kind === 'signIn') return 'signIn';
  if (choice.kind === 'unknownAccount') return `unknown ${choice.account}, beside ${choice.known.join(' ')}`;
  if (choice.kind === 'choose') return `choose of ${choice.accounts.join(' ')}`;
  return `${choice.kind} ${choice.grant.account}`;
}

const revoked = { state: { kind: 'revoked', receipt: 'confirmed', endedAt: 0 } } as const;

describe('a permission that names grants', () => {
  it('of several accounts is served by the one that request or user names', async () => {
    const grants = await grantsOf({ alice: {}, bob: {}, carol: {} });
    const both = { ...allowed, grants: [idOf(grants, 'alice'), idOf(grants, 'bob')] };
    expect(chosen(grants, {}, both)).toBe('choose of alice bob');
    expect(chosen(grants, {}, { ...both, account: 'alice' })).toBe('use alice');
    expect(chosen(grants, {}, { ...both, account: 'bob' })).toBe('use bob');
    expect(chosen(grants, { account: 'bob' }, { ...both, account: 'alice' })).toBe('use bob');
    expect(chosen(grants, { account: 'bob' }, both)).toBe('use bob');
    expect(chosen(grants, { account: 'carol' }, both)).toBe('ask carol');
    expect(chosen(grants, { account: 'dora' }, both)).toBe('unknown dora, beside bob alice');
  });

  it('continues with the only other account, and asks if there are several', async () => {
    const grants = await grantsOf({ alice: revoked, bob: {}, carol: {} });
    const [alice, bob, carol] = ['alice', 'bob', 'carol'].map((account) => idOf(grants, account));
    const had = { ...allowed, account: 'alice', grants: [alice ?? '', bob ?? ''] };
    expect(chosen(grants, {}, had)).toBe('use bob');
    expect(chosen(grants, {}, { ...had, grants: [...had.grants, carol ?? ''] })).toBe('choose of bob carol');
  });

  it('yields to a lease of the same account if its own grant has no sign-in', async () => {
    const signedOut = { account: 'alice', state: { kind: 'signInRequired', why: '' } } as const;
    const moved = { account: 'alice', issuer: 'https://new.example' };
    const grants = await grantsOf({ old: signedOut, new: moved, bob: {} });
    const [old = '', fresh = '', bob = ''] = grants
      .all()
      .toSorted((one, other) => one.createdAt - other.createdAt)
      .map(({ id }) => id);
    const kept = { ...allowed, grants: [old] };
    const usedWith = (id: string) =>
      chooseGrant(there(grants), editor, [kept, { ...allowed, grants: [id], until: 1 }]);
    expect(usedWith(fresh)).toMatchObject({ kind: 'use', grant: { id: fresh } });
    expect(usedWith(bob)).toMatchObject({ kind: 'use', grant: { id: old } });
  });
});

describe('a permission that names none yet', () => {
  it('a permission that names no grant yet takes the only living grant of its resource', async () => {
    const grants = await grantsOf({
      old: revoked,
      alice: {},
      elsewhere: { resource: 'https://notes.example' },
    });
    expect(chosen(grants, {}, { ...allowed, resource: endpoint })).toBe('use alice');
  });

  it('leaves the account to the user if there are several', async () => {
    const grants = await grantsOf({ alice: {}, bob: { state: { kind: 'signInRequired', why: '' } } });
    expect(chosen(grants, {}, allowed)).toBe('choose of alice bob');
    expect(chosen(grants, {}, { ...allowed, refusedGrants: [idOf(grants, 'bob')] })).toBe('ask alice');
  });

  it('a permission does not use a grant that the person refused it', async () => {
    const grants = await grantsOf({ alice: {} });
    expect(chosen(grants, {}, { ...allowed, refusedGrants: [idOf(grants, 'alice')] })).toBe('ask alice');
  });
});

it('a grant that belongs to one program serves that program and no other', async () => {
  const purpose = { kind: 'narrow', appId: 'editor' } as const;
  const grants = await grantsOf({ alice: { purpose } });
  const id = idOf(grants, 'alice');
  expect(chosen(grants, {}, allowed)).toBe('use alice');
  const agent = { ...allowed, appId: 'agent', grants: [id] };
  expect(chosen(grants, { appId: 'agent' }, agent)).toBe('signIn');
  expect(reaches({ ...allowed, grants: [id] }, grants.byId(id) ?? expect.fail())).toBe(true);
  expect(reaches(agent, grants.byId(id) ?? expect.fail())).toBe(false);
  const named = { ...editor, account: 'alice' };
  expect(grantsOfAccount(grants, named)).toEqual([id]);
  expect(() => grantsOfAccount(grants, { ...named, appId: 'agent' })).toThrow(
    expect.objectContaining({ reason: 'not_found' }),
  );
});
