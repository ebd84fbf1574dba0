/**
 * Compares the account of a sign-in with the account of the grant.
 *
 * Invariants: a sign-in renews a grant only if both name the same subject, or neither names one. If the sign-in
 * returns another subject, or no subject although the grant has one, it doesn't renew the grant: it counts as another
 * account. A label is the user's name for an account and proves nothing: it only selects the grant, and names a new
 * one, or one that had only its subject as a name.
 */
import type { TokenResponse } from '../../oauth/grants/token.ts';
import { defaultAccount, isLiving, subjectOf } from '../records/grant.ts';
import type { Grant } from '../records/grant.ts';

export interface SignedIn {
  readonly answer: Pick<TokenResponse, 'subject'>;
  /** The label the user chose. */
  readonly account?: string;
  /** The grant that the sign-in should renew. */
  readonly grantId?: string;
}

/** Where the tokens would be stored: in an existing grant, or in a new one of this account. */
interface TargetGrant {
  readonly grant: Grant | undefined;
  readonly account: string;
}

export type AccountMatch =
  | (TargetGrant & { readonly kind: 'expected' })
  /**
   * The user decides. `known`: the accounts that it could have been; `signedIn`: the subject that the server named.
   */
  | (TargetGrant & {
      readonly kind: 'another';
      readonly known: readonly string[];
      readonly signedIn: string | undefined;
    })
  /** No account has the requested label, but the account that signed in is already `known` by another name. */
  | {
      readonly kind: 'mismatch';
      readonly asked: string;
      readonly known: string;
      readonly signedIn: string;
    };

export type Mismatch = Extract<AccountMatch, { readonly kind: 'mismatch' }>;

/** The sign-in returned another account than the one it was for. */
export type Another = Exclude<AccountMatch, { readonly kind: 'expected' }>;

/** `there`: the shared grants for this resource at this issuer. */
export function matchAccount(there: readonly Grant[], { answer, account, grantId }: SignedIn): AccountMatch {
  const signedIn = answer.subject?.subject;
  const meant = there.find(({ id }) => id === grantId) ?? there.find((grant) => grant.account === account);
  if (meant && isSame(meant, signedIn)) return { kind: 'expected', grant: meant, account: meant.account };
  const own = ownTarget(there, meant ? undefined : account, signedIn);
  if (meant) return { kind: 'another', ...own, known: [meant.account], signedIn };
  const known = account === undefined ? undefined : grantOf(there.filter(isLiving), signedIn);
  if (account !== undefined && known && signedIn !== undefined) {
    // Nobody named it yet.
    if (known.account === signedIn) return { kind: 'expected', grant: known, account };
    return { kind: 'mismatch', asked: account, known: known.account, signedIn };
  }
  const others = own.grant || account !== undefined ? [] : possible(there, signedIn);
  if (others.length === 0) return { kind: 'expected', ...own };
  return { kind: 'another', ...own, known: others.map((grant) => grant.account), signedIn };
}

/** The same subject, or none on both sides. */
function isSame(grant: Grant, signedIn: string | undefined): boolean {
  return subjectOf(grant) === signedIn;
}

/** The grant of a subject, under any name; a living one first. */
function grantOf(there: readonly Grant[], signedIn: string | undefined): Grant | undefined {
  if (signedIn === undefined) return undefined;
  const own = there.filter((grant) => isSame(grant, signedIn));
  return own.find(isLiving) ?? own[0];
}

/** The kept grant of the account that signed in, if there is one. A new label begins a new grant. */
function ownTarget(
  there: readonly Grant[],
  label: string | undefined,
  signedIn: string | undefined,
): TargetGrant {
  const account = label ?? signedIn ?? defaultAccount;
  if (label !== undefined) return { account, grant: undefined };
  const grant =
    signedIn === undefined
      ? there.find((one) => one.account === account && isSame(one, undefined))
      : grantOf(there, signedIn);
  return { account: grant?.account ?? account, grant };
}

/** The accounts that could have signed in, if nobody named one. */
function possible(there: readonly Grant[], signedIn: string | undefined): Grant[] {
  const living = there.filter(isLiving);
  // Neither names a subject, so a label doesn't show who signed in.
  return signedIn === undefined ? living.filter((grant) => subjectOf(grant) !== undefined) : living;
}
