/** Whose sign-in came back: which record it renews, and when the user is asked. */
import { describe, expect, it } from 'vitest';
import type { SignIn } from '../../../src/broker/records/sign-in.ts';
import { signInOf } from '../nowhere.ts';
import { matchAccount } from '../../../src/broker/sign-in/sign-in-account.ts';

const signIn = (account: string, fields: Partial<SignIn> = {}): SignIn => ({
  id: account,
  ...signInOf(account, fields),
});

const alice = signIn('alice', { subject: 'alice' });
const label = signIn('work', { subject: null });
const labelled = signIn('team', { subject: 'carol' });
const unnamed = signIn('default', { subject: null });
const revoked = signIn('alice', {
  subject: 'alice',
  state: { kind: 'revoked', receipt: 'confirmed', endedAt: 0 },
});

function outcome(
  there: readonly SignIn[],
  subject?: string,
  meant: Parameters<typeof matchAccount>[1] = {},
): string {
  const answer = subject === undefined ? {} : { subject: { issuer: 'https://login.example', subject } };
  const match = matchAccount(there, meant, answer);
  if (match.kind === 'mismatch') return `mismatch ${match.asked} ${match.known} ${match.signedIn}`;
  const place = `${match.signIn ? 'renews' : 'new'} ${match.account}`;
  return match.kind === 'expected' ? place : `asks about ${match.known.join(' ')}: ${place}`;
}

describe('a sign-in', () => {
  it.each([
    ['the first one', [], 'bob', {}, 'new bob'],
    ['the first one without an ID token', [], undefined, {}, 'new default'],
    ['of the subject that is there', [alice], 'alice', {}, 'renews alice'],
    ['of a subject whose sign-in was revoked', [revoked], 'alice', {}, 'renews alice'],
    ['of nobody’s subject, as before', [unnamed], undefined, {}, 'renews default'],
    ['under a label, as before', [label, alice], undefined, { account: 'work' }, 'renews work'],
    ['under a new label', [alice], undefined, { account: 'home' }, 'new home'],
    ['under its label', [labelled], 'carol', { account: 'team' }, 'renews team'],
    ['under no label, as before under one', [labelled, alice], 'carol', {}, 'renews team'],
    ['of another subject after a revocation', [revoked], 'bob', {}, 'new bob'],
  ] as const)('needs no question: %s', (_what, there, subject, meant, expected) => {
    expect(outcome(there, subject, meant)).toBe(expected);
  });

  it.each([
    ['as another subject', [alice], 'bob', {}, 'asks about alice: new bob'],
    ['as another subject in a step-up', [alice], 'bob', { signInId: 'alice' }, 'asks about alice: new bob'],
    ['as another subject under a label', [labelled], 'bob', { account: 'team' }, 'asks about team: new bob'],
    ['as another label', [labelled, alice], 'alice', { account: 'team' }, 'asks about team: renews alice'],
    ['without a subject', [alice], undefined, {}, 'asks about alice: new default'],
    ['with a subject where there was none', [unnamed], 'bob', {}, 'asks about default: new bob'],
    ['with a subject that is spelled as a label', [label], 'work', {}, 'asks about work: new work'],
  ] as const)('%s asks the user', (_what, there, subject, meant, expected) => {
    expect(outcome(there, subject, meant)).toBe(expected);
  });

  it('under a new label is refused where its subject is signed in under another label', () => {
    expect(outcome([labelled], 'carol', { account: 'work' })).toBe('mismatch work team carol');
  });
});
