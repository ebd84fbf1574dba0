/** Receipts of revocations in words. */
import { expect, it } from 'vitest';
import { receiptLine } from '../../../src/cli/words/receipt.ts';

const receipt: Parameters<typeof receiptLine>[0] = {
  id: 'a',
  account: 'default',
  resource: 'https://notes.example/mcp',
  issuer: 'https://login.example',
  receipt: 'notOffered',
};

it('claims no refresh token if there may have been none', () => {
  expect(receiptLine(receipt)).toBe(
    'https://notes.example/mcp at https://login.example: revoked here; the authorization server offers no revocation, or there was no refresh token to revoke. If there was one, it may stay valid: end it in your account there',
  );
  expect(receiptLine({ ...receipt, liveUntil: 1_700_000_000 })).toMatch(
    /end it in your account there; an access token that was handed out may work until .*2023/,
  );
});
