/** Accounts at two authorization servers, and receipts of revocations, in words. */
import { expect, it } from 'vitest';
import { accountNote } from '../../../src/cli/words/account-note.ts';
import { receiptLine } from '../../../src/cli/words/receipt.ts';

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

const receipt: Parameters<typeof receiptLine>[0] = {
  id: 'a',
  account: 'default',
  resource: 'https://notes.example/mcp',
  issuer: 'https://login.example',
  receipt: 'notOffered',
};

it('a receipt claims no refresh token if there may have been none', () => {
  expect(receiptLine(receipt)).toBe(
    'https://notes.example/mcp at https://login.example: revoked here; the authorization server offers no revocation, or there was no refresh token to revoke. If there was one, it may stay valid: end it in your account there',
  );
  expect(receiptLine({ ...receipt, liveUntil: 1_700_000_000 })).toMatch(
    /end it in your account there; an access token that was handed out may work until .*2023/,
  );
});
