/** Receipts of revocations in words: what became of the tokens of a sign-in that was ended. */
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { quoted } from '../../base/errors.ts';
import { when } from '../terminal/output.ts';

type Receipt = ResultOf<'signIn.revoke'>['revoked'][number];
type SignIn = ResultOf<'signIn.list'>['signIns'][number];

/** What each receipt means, in a sentence. */
const meanings = {
  confirmed: () => 'confirmed by the authorization server',
  notOffered: () =>
    'revoked here; the authorization server offers no revocation, or there was no refresh token to revoke. If there was one, it may stay valid: end it in your account there',
  pending: ({ nextTryAt, triedUntil }) =>
    `revoked here; the authorization server could not be reached yet. Keyturn tries again${at(', next at', nextTryAt)}${at(', until', triedUntil)}`,
  abandoned: () =>
    'revoked here; the authorization server never confirmed it, and Keyturn can no longer ask: end it in your account there',
} as const satisfies Record<Receipt['receipt'], (receipt: Partial<Receipt>) => string>;

/** One line for one sign-in. */
export function receiptLine(receipt: Receipt): string {
  const { resource, issuer, account, liveUntil } = receipt;
  const as = account === undefined || account === 'default' ? '' : ` as ${quoted(account)}`;
  const live = at('; an access token that was handed out may work until', liveUntil);
  return `${resource} at ${issuer}${as}: ${meanings[receipt.receipt](receipt)}${live}`;
}

/** For people; `--json` has the names. */
const labels: Readonly<Record<Receipt['receipt'], string>> = {
  confirmed: 'confirmed',
  notOffered: 'not offered',
  pending: 'pending',
  abandoned: 'abandoned',
};

/** The same in a cell of a table; nothing for a sign-in that isn't revoked. */
export function receiptNotes({ receipt, nextTryAt, liveUntil }: SignIn): string[] {
  if (receipt === undefined) return [];
  return [`${labels[receipt]}${at(', next try', nextTryAt)}${at(', tokens may live until', liveUntil)}`];
}

function at(words: string, seconds: number | undefined): string {
  return seconds === undefined ? '' : `${words} ${when(seconds)}`;
}
