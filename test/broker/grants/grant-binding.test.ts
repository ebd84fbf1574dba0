/** Which one counts if a line of the index and the vault's binding differ. */
import { describe, expect, it } from 'vitest';
import { bindingOf, compared } from '../../../src/broker/grants/grant-binding.ts';
import type { Binding } from '../../../src/broker/grants/grant-binding.ts';
import type { Grant } from '../../../src/broker/records/grant.ts';

const grant: Grant = {
  id: '0123456789abcdef',
  endpoints: ['https://a.example/mcp'],
  resource: 'https://a.example/mcp',
  issuer: 'https://i.example',
  account: 'alice',
  subject: null,
  registrationId: 'fedcba9876543210',
  server: { revision: 'current', identifier: 'https://i.example' },
  scope: ['read', 'write'],
  requestedScope: ['read', 'write'],
  state: { kind: 'active' },
  generation: 5,
  hasRefreshToken: true,
  createdAt: 1000,
  signedInAt: 2000,
};

const active = { kind: 'active' } as const;
const ended = { kind: 'revoked', receipt: 'pending', endedAt: 3000, tries: 2 } as const;
const told = { kind: 'revoked', receipt: 'confirmed', endedAt: 3000 } as const;
const lost = { kind: 'loginRequired', why: 'the server ended it' } as const;

/** Compares the line with a binding of the grant above after this change. */
const verdict = (
  line: Partial<Grant>,
  binding: Partial<Binding> = {},
  refreshToken: string | undefined = 'r',
) =>
  compared(grant.id, { ...grant, ...line }, { binding: { ...bindingOf(grant), ...binding }, refreshToken });

describe('a line of the index that agrees with the vault', () => {
  it.each([
    ['as it was written', {}],
    ['in another order of scopes', { scope: ['write', 'read'], requestedScope: ['write', 'read'] }],
    ['at a later generation', { generation: 50 }],
    ['of a grant that needs a new sign-in', { state: lost }],
    ['with what the vault does not keep', { lastRefreshedAt: 1, liveUntil: 2, attempt: { startedAt: 3 } }],
  ])('a line of the index that agrees with the vault stays: %s', (_what, line) => {
    expect(verdict(line).differing).toEqual([]);
  });
});

describe('a line of the index that differs from the vault', () => {
  it.each([
    ['endpoints', { endpoints: ['https://a.example/mcp', 'https://b.example/mcp'] }],
    ['resource', { resource: 'https://b.example/mcp' }],
    ['issuer', { issuer: 'https://evil.example' }],
    ['account', { account: 'mallory' }],
    ['registrationId', { registrationId: '0000000000000000' }],
    ['server', { server: { revision: 'earlier', identifier: 'https://i.example' } }],
    ['server', { server: undefined }],
    ['scope', { scope: ['read'] }],
    ['scope', { scope: ['read', 'write', 'admin'] }],
    ['requestedScope', { requestedScope: ['admin'] }],
    ['createdAt', { createdAt: 9999 }],
    ['hasRefreshToken', { hasRefreshToken: false }],
  ] as const)(
    'a line of the index that differs from the vault in its %s is corrected from the vault: %j',
    (field, line) => {
      const { differing, record, generation } = verdict({ ...line, generation: 70 } as Partial<Grant>);
      expect(differing).toEqual([field]);
      expect(record[field]).toEqual(grant[field]);
      expect(generation).toBe(71);
    },
  );

  it('a corrected line of the index is written at a generation beyond that of the vault too', () => {
    expect(verdict({ issuer: 'https://evil.example', generation: 2 }, { generation: 9 }).generation).toBe(10);
  });
});

describe('whether a grant has ended', () => {
  it.each<[string, Partial<Grant>, Partial<Binding>, Grant['state']]>([
    [
      'only in the vault: it has, and its server is to be told',
      { state: active },
      { revokedAt: 3000 },
      { kind: 'revoked', receipt: 'pending', endedAt: 3000 },
    ],
    ['in both: the pending receipt stays', { state: ended }, { revokedAt: 3000 }, ended],
    [
      'in both, and the tokens are still here: no receipt is final',
      { state: told },
      { revokedAt: 3000 },
      { kind: 'revoked', receipt: 'pending', endedAt: 3000 },
    ],
    ['only in the index: it has', { state: ended, generation: 6 }, {}, ended],
    [
      'only in an index that is behind, by a revocation after the last sign-in: it has',
      { state: ended, generation: 1 },
      {},
      ended,
    ],
    [
      'only in an index that is behind the last sign-in: it has not',
      { state: ended, generation: 4 },
      { signedInAt: 4000 },
      active,
    ],
    [
      'in neither, and the index is behind a sign-in: it is active',
      { state: lost, generation: 4 },
      {},
      active,
    ],
  ])('%s', (_what, line, binding, state) => {
    expect(verdict(line, binding).record.state).toEqual(state);
  });

  it('a refresh token does not count as lost while its revocation is pending', () => {
    expect(verdict({ state: ended }, { revokedAt: 3000 }, undefined).differing).toEqual([]);
  });
});

describe('a grant without a line in the index', () => {
  it('a grant without a line in the index gets its line from the vault', () => {
    const { record, generation, differing } = compared(grant.id, undefined, {
      binding: bindingOf(grant),
      refreshToken: 'r',
    });
    expect(record).toEqual({ ...grant, generation: undefined });
    expect(generation).toBe(6);
    expect(differing).not.toEqual([]);
  });
});
