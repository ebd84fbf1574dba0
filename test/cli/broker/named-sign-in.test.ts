/** Sign-ins that a mistyped name may have meant, and the account that a program works as. */
import { describe, expect, it } from 'vitest';
import { accountNote } from '../../../src/cli/words/account-note.ts';
import { near } from '../../../src/cli/broker/named-sign-in.ts';

const endpoint = 'https://notes.example/mcp';

function signIn(id: string, account: string, more: { endpoint?: string; state?: string } = {}) {
  const issuer = 'https://login.example';
  return {
    id,
    account,
    endpoint,
    resource: endpoint,
    issuer,
    scope: '',
    state: 'active',
    exceptions: [],
    apps: [],
    ...more,
  };
}

const anna = signIn('0123456789abcdef', 'anna');
const work = signIn('fedcba9876543210', 'work');
const other = signIn('7777777777777777', 'anna', { endpoint: 'https://tasks.example/mcp' });
const signIns = [anna, work, other];

it.each([
  ['a shortened id', '01234567', [anna]],
  ['an id with a wrong digit', 'fedcba9876543211', [work]],
  ['a part of an address', 'notes', [anna, work]],
  ['an account', 'work', [work]],
  ['another address of the same server', 'https://notes.example/other', [anna, work]],
  ['an address elsewhere', 'https://nowhere.example', []],
  ['nothing like it', 'abc', []],
])('what is near a name %s', (_what, text, expected) => {
  expect(near(text, signIns)).toEqual(expected);
});

describe('the account of an allowed program', () => {
  const editor = (accounts?: string[]) => [
    {
      appId: 'AbC',
      name: 'editor',
      pairedAt: 0,
      permissions: [{ resource: endpoint, decision: 'allow' as const, ...(accounts ? { accounts } : {}) }],
    },
  ];
  const allowed = { app: 'editor', resource: `${endpoint}/` };

  it.each([
    ['the one it works as', editor(['work']), signIns, 'editor works there as "work".'],
    ['the only one there is', editor(), [anna, other], 'editor will work there as "anna", the only account.'],
    [
      'that of the first sign-in',
      editor(),
      [other, { ...anna, state: 'revoked' }],
      'Nobody is signed in there yet: editor will work as the account of the first sign-in.',
    ],
    [
      'one of several',
      editor(),
      signIns,
      '"anna", "work" are signed in there: you will be asked which one editor works as, or use --account ACCOUNT.',
    ],
  ])('is said: %s', (_what, clients, all, said) => {
    expect(accountNote(allowed, clients, all)).toBe(said);
  });
});
