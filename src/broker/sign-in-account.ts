/**
 * Whose sign-in came back: of the account that a grant is for, or of another one.
 *
 * Invariants: a sign-in renews a grant only where the subject is the grant's, or where neither names one. What
 * comes back as somebody else, or names nobody where the grant's subject is known, renews no grant that it was
 * for: it is another account's (DESIGN, Words: account).
 */
import type { TokenAnswer } from '../oauth/token.ts';
import { defaultAccount, isLiving, subjectOf } from './grant.ts';
import type { Grant } from './grant.ts';

export interface Returned {
  readonly answer: Pick<TokenAnswer, 'subject'>;
  /** The label the user chose. */
  readonly account?: string;
  /** The grant that the sign-in should renew. */
  readonly grantId?: string;
}

/** Where its tokens would be kept: in a grant that is there, or in a new one of this account. */
interface Place {
  readonly grant: Grant | undefined;
  readonly account: string;
}

export type Whose =
  | (Place & { readonly kind: 'expected' })
  /** The person decides. `known`: the accounts that it could have been, `signedIn` the subject that the answer names. */
  | (Place & {
      readonly kind: 'another';
      readonly known: readonly string[];
      readonly signedIn: string | undefined;
    })
  /** The label that was asked for isn't the account that signed in. */
  | { readonly kind: 'mismatch'; readonly asked: string; readonly signedIn: string };

/** Not the account that the sign-in was for. */
export type Another = Exclude<Whose, { readonly kind: 'expected' }>;

/** `there`: the shared grants for this resource at this issuer. */
export function whoseSignIn(there: readonly Grant[], { answer, account, grantId }: Returned): Whose {
  const signedIn = answer.subject?.subject;
  const meant = there.find(({ id }) => id === grantId) ?? there.find((grant) => grant.account === account);
  if (meant && isSame(meant, signedIn)) return { kind: 'expected', grant: meant, account: meant.account };
  const own = ownPlace(there, meant ? undefined : account, signedIn);
  if (meant) return { kind: 'another', ...own, known: [meant.account], signedIn };
  if (signedIn !== undefined && account !== undefined && account !== signedIn) {
    return { kind: 'mismatch', asked: account, signedIn };
  }
  const others = own.grant || account !== undefined ? [] : possible(there, signedIn);
  if (others.length === 0) return { kind: 'expected', ...own };
  return { kind: 'another', ...own, known: others.map((grant) => grant.account), signedIn };
}

/** The same subject, or none on both sides. Grants of older versions don't say whether their account is one. */
function isSame(grant: Grant, signedIn: string | undefined): boolean {
  const subject = subjectOf(grant);
  if (signedIn === undefined) return subject === undefined;
  return subject === signedIn || (grant.subject === undefined && grant.account === signedIn);
}

/** What is kept of whoever signed in, if it is kept. */
function ownPlace(there: readonly Grant[], label: string | undefined, signedIn: string | undefined): Place {
  const account = signedIn ?? label ?? defaultAccount;
  return { account, grant: there.find((grant) => grant.account === account && isSame(grant, signedIn)) };
}

/** Whose sign-in it could have been, where nobody named an account. */
function possible(there: readonly Grant[], signedIn: string | undefined): Grant[] {
  const living = there.filter(isLiving);
  // Neither names a subject: a label tells nothing of who signed in.
  return signedIn === undefined ? living.filter((grant) => subjectOf(grant) !== undefined) : living;
}
