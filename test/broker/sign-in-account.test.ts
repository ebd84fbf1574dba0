/** Whose sign-in came back: which grant it renews, and when the person is asked. */
import { describe, expect, it } from 'vitest';
import type { Grant } from '../../src/broker/grant.ts';
import { whoseSignIn } from '../../src/broker/sign-in-account.ts';
import type { Returned } from '../../src/broker/sign-in-account.ts';

function grant(account: string, fields: Partial<Grant> = {}): Grant {
  return {
    id: account,
    endpoints: ['https://notes.example/mcp'],
    resource: 'https://notes.example/mcp',
    issuer: 'https://login.example',
    account,
    registrationId: 'r',
    scope: ['read'],
    requestedScope: [],
    state: { kind: 'active' },
    generation: 1,
    hasRefreshToken: true,
    createdAt: 0,
    ...fields,
  };
}

const alice = grant('alice', { subject: 'alice' });
const label = grant('work', { subject: null });
const unnamed = grant('default', { subject: null });
const older = grant('alice', { requestedScope: ['openid', 'read'] });
const olderLabel = grant('work');
const revoked = grant('alice', { subject: 'alice', state: { kind: 'revoked', receipt: 'confirmed' } });

function outcome(there: readonly Grant[], subject?: string, meant: Omit<Returned, 'answer'> = {}): string {
  const answer = subject === undefined ? {} : { subject: { issuer: 'https://login.example', subject } };
  const whose = whoseSignIn(there, { answer, ...meant });
  if (whose.kind === 'mismatch') return `mismatch ${whose.asked} ${whose.signedIn}`;
  const place = `${whose.grant ? 'renews' : 'new'} ${whose.account}`;
  return whose.kind === 'expected' ? place : `asks about ${whose.known.join(' ')}: ${place}`;
}

describe('a sign-in', () => {
  it.each([
    ['the first one', [], 'bob', {}, 'new bob'],
    ['the first one without an ID token', [], undefined, {}, 'new default'],
    ['of the subject that is there', [alice], 'alice', {}, 'renews alice'],
    ['of a subject whose grant was revoked', [revoked], 'alice', {}, 'renews alice'],
    ['of nobody’s subject, as before', [unnamed], undefined, {}, 'renews default'],
    ['under a label, as before', [label, alice], undefined, { account: 'work' }, 'renews work'],
    ['under a new label', [alice], undefined, { account: 'home' }, 'new home'],
    ['of a subject that an older version kept', [older], 'alice', { grantId: 'alice' }, 'renews alice'],
    ['under a label that an older version kept', [olderLabel], undefined, { account: 'work' }, 'renews work'],
    ['of another subject after a revocation', [revoked], 'bob', {}, 'new bob'],
  ] as const)('%s needs no question', (_what, there, subject, meant, expected) => {
    expect(outcome(there, subject, meant)).toBe(expected);
  });

  it.each([
    ['as another subject', [alice], 'bob', {}, 'asks about alice: new bob'],
    ['as another subject in a step-up', [alice], 'bob', { grantId: 'alice' }, 'asks about alice: new bob'],
    ['as another subject for an account', [alice], 'bob', { account: 'alice' }, 'asks about alice: new bob'],
    ['without a subject', [alice], undefined, {}, 'asks about alice: new default'],
    [
      'without a subject for an account',
      [alice],
      undefined,
      { account: 'alice' },
      'asks about alice: new default',
    ],
    ['without a subject that an older version kept', [older], undefined, {}, 'asks about alice: new default'],
    ['with a subject where there was none', [unnamed], 'bob', {}, 'asks about default: new bob'],
    ['with a subject that is spelled as a label', [label], 'work', {}, 'asks about work: new work'],
  ] as const)('%s asks', (_what, there, subject, meant, expected) => {
    expect(outcome(there, subject, meant)).toBe(expected);
  });

  it('for a label that nobody has is refused where another subject comes', () => {
    expect(outcome([alice], 'alice', { account: 'work' })).toBe('mismatch work alice');
  });
});
