/** What a permission gives, what it refuses, and what a new decision keeps of it. */
import { describe, expect, it } from 'vitest';
import {
  carriedOver,
  covers,
  isFixedTo,
  isDenied,
  permissionRules,
} from '../../../src/broker/records/permission.ts';
import type { Permission } from '../../../src/broker/records/permission.ts';

const permission = (changes: Partial<Permission> = {}): Permission => ({
  appId: 'c1',
  endpoint: 'https://mcp.example/',
  decision: 'allow',
  createdAt: 0,
  ...changes,
});

it.each([
  [{ scope: ['a', 'b'] }, { scope: ['a'] }, true],
  [{ scope: ['a'] }, { scope: ['a', 'b'] }, false],
  [{ scope: [] }, { scope: ['a'] }, false],
  [{}, { scope: ['a'] }, true],
  [{ fixAtFirstToken: true }, { scope: [] }, true],
  [{ fixAtFirstToken: true }, { scope: ['a'] }, false],
  [{ decision: 'deny' }, { scope: [] }, false],
  [{ signInIds: ['g1'] }, { scope: [], signInId: 'g1' }, true],
  [{ signInIds: ['g1'] }, { scope: [], signInId: 'g2' }, false],
  [{}, { scope: [], signInId: 'g1' }, false],
] as const)('covers: a permission with %j, the need of %j: %s', (changes, need, expected) => {
  expect(covers(permission(changes as Partial<Permission>), need)).toBe(expected);
});

it.each([
  [{}, { scope: ['a'], signInId: 'g1' }, false],
  [{ decision: 'deny' }, { scope: [] }, true],
  [{ deniedScope: ['b'] }, { scope: ['a', 'b'] }, true],
  [{ deniedScope: ['b'] }, { scope: ['a'] }, false],
  [{ deniedSignInIds: ['g1'] }, { scope: [], signInId: 'g1' }, true],
  [{ deniedSignInIds: ['g1'] }, { scope: [], signInId: 'g2' }, false],
  [{ deniedSignInIds: ['g1'] }, { scope: [] }, false],
] as const)('isDenied: a permission with %j, the need of %j: %s', (changes, need, expected) => {
  expect(isDenied(permission(changes as Partial<Permission>), need)).toBe(expected);
});

it('isFixedTo: by sign-in and resource, once the first token has fixed the scopes', () => {
  const bound = { signInIds: ['g1'], resource: 'https://mcp.example/' };
  expect(isFixedTo(permission(bound), 'g1')).toBe(true);
  expect(isFixedTo(permission(bound), 'g2')).toBe(false);
  expect(isFixedTo(permission({ signInIds: ['g1'] }), 'g1')).toBe(false);
  expect(isFixedTo(permission({ ...bound, fixAtFirstToken: true }), 'g1')).toBe(false);
});

it.each([
  [['g1', 'g2'], ['g1'], true],
  [['g1'], ['g1', 'g2'], false],
  [['g1'], [], false],
  [[], ['g1'], true],
])('isLess: a permission for the sign-ins %j, then for %j: %s', (before, after, isLess) => {
  const [one, other] = [before, after].map((signInIds) => permission({ signInIds }));
  expect(permissionRules.isLess?.(other ?? expect.fail(), one)).toBe(isLess);
});

describe('carriedOver', () => {
  const had = { signInIds: ['g1'], account: 'g1' };
  const before = permission({ ...had, deniedScope: ['b'], deniedSignInIds: ['g2', 'g3'] });

  it('keeps accounts and refusals that the new decision does not name', () => {
    expect(carriedOver(before, permission({ scope: ['a'] }))).toEqual({
      ...had,
      deniedScope: ['b'],
      deniedSignInIds: ['g2', 'g3'],
    });
    expect(carriedOver(before, permission({ scope: ['b'], signInIds: ['g2'], account: 'g2' }))).toEqual({
      signInIds: ['g1', 'g2'],
      account: 'g2',
      deniedScope: [],
      deniedSignInIds: ['g3'],
    });
  });

  it('keeps nothing of a denial, for one, or without a decision before', () => {
    expect(carriedOver(before, permission({ decision: 'deny' }))).toEqual({});
    expect(carriedOver({ ...before, decision: 'deny' }, permission())).toEqual({});
    expect(carriedOver(undefined, permission())).toEqual({});
    expect(carriedOver(permission(), permission())).toEqual({});
  });
});
