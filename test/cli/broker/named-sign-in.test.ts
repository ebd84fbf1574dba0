/** Sign-ins that a mistyped name may have meant. */
import { expect, it } from 'vitest';
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
