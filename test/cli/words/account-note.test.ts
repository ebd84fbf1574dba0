/** Which account an app will use, in words, where sign-ins are at two authorization servers. */
import { expect, it } from 'vitest';
import { accountNote } from '../../../src/cli/words/account-note.ts';

type Notes = Parameters<typeof accountNote>;

const resource = 'https://notes.example/mcp';
const app = { appId: 'cli', name: 'cli', pairedAt: 0 };
const signIn = (issuer: string, state: string): Notes[2][number] =>
  ({ endpoint: resource, account: 'work', issuer, state }) as Notes[2][number];
const allowed = (accounts: string[]): Notes[1] => [
  { ...app, permissions: [{ resource, decision: 'allow', accounts }] },
];

it('names each usable authorization server of an account that has two', () => {
  const note = (...states: string[]): string =>
    accountNote(
      { app: 'cli', resource },
      allowed(['work', 'work']),
      states.map((state, at) => signIn(`https://login${at}.example`, state)),
    );
  expect(note('active')).toBe('cli works there as "work".');
  expect(note('signInRequired', 'active')).toBe('cli works there as "work" at https://login1.example.');
  expect(note('active', 'active')).toBe(
    'cli works there as "work" at https://login0.example, "work" at https://login1.example.',
  );
});
