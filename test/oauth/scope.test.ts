/** Scopes as literal sets, and which are asked for. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  formatScope,
  isWithin,
  parseScope,
  readScope,
  selectScope,
  stepUpScope,
  union,
} from '../../src/oauth/scope.ts';
import { refusalOf } from './refusal.ts';

const scopes = fc.array(fc.stringMatching(/^[!#-[\]-~]{1,8}$/));

describe('a scope text', () => {
  it('is a set in the order written', () => {
    expect(parseScope('b  a b ')).toEqual(['b', 'a']);
    expect(parseScope('')).toEqual([]);
  });

  it.each(['a"b', 'a\\b', 'caf\u00e9', 'a\tb', 'a\nb'])('is refused as %j', async (text) => {
    expect((await refusalOf(() => parseScope(text))).reason).toBe('invalid_scope');
  });

  it('of a server loses only what is no scope', () => {
    expect(readScope('read caf\u00e9 write')).toEqual(['read', 'write']);
  });

  it('survives being written and read', () => {
    fc.assert(
      fc.property(scopes, (set) => {
        expect(parseScope(formatScope(union(set)))).toEqual(union(set));
      }),
    );
  });

  it('is within a union of itself with anything, and compared letter by letter', () => {
    fc.assert(
      fc.property(scopes, scopes, (one, other) => {
        expect(isWithin(one, union(other, one))).toBe(true);
      }),
    );
    expect(isWithin(['Read'], ['read'])).toBe(false);
    expect(isWithin(['read'], ['read:all', 'rea', '*'])).toBe(false);
  });
});

describe('the scopes to ask for', () => {
  it('are those of the challenge with those of the caller', () => {
    expect(selectScope({ challenge: ['c'], requested: ['r'], scopesSupported: ['s'] })).toEqual(['c', 'r']);
  });

  it("are the caller's without a challenge, then the supported ones, then none", () => {
    expect(selectScope({ requested: ['r'], scopesSupported: ['s'] })).toEqual(['r']);
    expect(selectScope({ challenge: [], requested: [], scopesSupported: ['s'] })).toEqual(['s']);
    expect(selectScope({})).toBeUndefined();
  });

  it('have offline_access only where the authorization server lists it', () => {
    const offered = ['openid', 'offline_access'];
    expect(selectScope({ requested: ['r'], authorizationServerScopes: offered })).toEqual([
      'r',
      'offline_access',
    ]);
    expect(selectScope({ requested: ['r'], authorizationServerScopes: ['openid'] })).toEqual(['r']);
    expect(selectScope({ authorizationServerScopes: offered })).toBeUndefined();
  });

  it('after a step-up are all of before and all of the challenge', () => {
    expect(stepUpScope(['a', 'b'], ['b', 'c'])).toEqual(['a', 'b', 'c']);
    expect(stepUpScope(['a'], ['c'], ['offline_access'])).toEqual(['a', 'c', 'offline_access']);
  });
});
