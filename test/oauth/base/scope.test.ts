/** Scopes as literal sets, and which are asked for. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isWithin,
  parseScope,
  readGranted,
  readScope,
  selectScope,
  union,
} from '../../../src/oauth/base/scope.ts';
import { refusalOf } from '../refusal.ts';

const scopes = fc.array(fc.stringMatching(/^[!#-[\]-~]{1,8}$/));

describe('a scope text', () => {
  it('parses a scope text into distinct scopes in their order', () => {
    expect(parseScope('b  a b ')).toEqual(['b', 'a']);
    expect(parseScope('')).toEqual([]);
  });

  it.each(['a"b', 'a\\b', 'caf\u00e9', 'a\tb', 'a\nb'])('refuses the scope text %j', async (text) => {
    expect((await refusalOf(() => parseScope(text))).reason).toBe('invalid_scope');
  });

  it("keeps the well-formed scopes of a server's text", () => {
    expect(readScope('read caf\u00e9 write')).toEqual(['read', 'write']);
  });

  it.each([
    ['read,write', ['read', 'write'], ['read', 'write']],
    ['repo,gist', [], ['repo', 'gist']],
    ['geo:1,2 read', ['geo:1,2', 'read'], ['geo:1,2', 'read']],
    ['read,write', ['read,write'], ['read,write']],
  ])('reads the granted text %j, with %j requested, as %j', (text, asked, scope) => {
    expect(readGranted(text, asked)).toEqual(scope);
  });

  it('a scope is within each union with it, and compared as an exact string', () => {
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
  it("S-2: without a challenge, selects the caller's scopes, else the supported ones", () => {
    expect(selectScope({ requested: ['r'], scopesSupported: ['s'] })).toEqual(['r']);
    expect(selectScope({ challenge: [], requested: [], scopesSupported: ['s'] })).toEqual(['s']);
    expect(selectScope({})).toBeUndefined();
  });

  it('N-9: a step-up loses no scope, for any two sets', () => {
    fc.assert(
      fc.property(scopes, scopes, fc.option(scopes, { nil: undefined }), (before, challenge, offered) => {
        const servers = offered === undefined ? {} : { authorizationServerScopes: offered };
        const asked = selectScope({ requested: before, challenge, ...servers }) ?? [];
        expect(isWithin(before, asked)).toBe(true);
        expect(isWithin(challenge, asked)).toBe(true);
        const added = asked.filter((scope) => !before.includes(scope) && !challenge.includes(scope));
        expect(added.every((scope) => scope === 'offline_access' && offered?.includes(scope))).toBe(true);
      }),
    );
  });

  it('S-3: never adds scopes_supported to those of a challenge, for any two sets', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1 }),
        scopes,
        (challenge, scopesSupported) => {
          expect(selectScope({ challenge, scopesSupported })).toEqual(union(challenge));
        },
      ),
    );
  });

  it('N-8: keeps an offline_access that challenge or caller named, and adds none', () => {
    expect(selectScope({ challenge: ['a', 'offline_access'] })).toEqual(['a', 'offline_access']);
    const stepUp = { requested: ['a'], challenge: ['b'] };
    expect(selectScope({ ...stepUp, authorizationServerScopes: ['openid'] })).toEqual(['b', 'a']);
    expect(selectScope(stepUp)).toEqual(['b', 'a']);
  });
});
