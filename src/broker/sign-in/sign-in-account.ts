/**
 * Compares the account that signed in with the account of the sign-in.
 *
 * Invariants: tokens renew a sign-in only if both name the same subject, or neither names one. If the page
 * returns another subject, or no subject although the sign-in has one, they don't renew it: it counts as another
 * account. A label is the user's name for an account and proves nothing: it only selects the sign-in, and names a new
 * one, or one that had only its subject as a name.
 */
import type { TokenResponse } from '../../oauth/grants/token.ts';
import { defaultAccount, isLiving, isShared, subjectOf } from '../records/sign-in.ts';
import type { SignIn } from '../records/sign-in.ts';
import type { SignInRequest } from './sign-in-context.ts';

/** Where the tokens would be stored: in an existing sign-in, or in a new one of this account. */
export interface TargetSignIn {
  readonly signIn: SignIn | undefined;
  readonly account: string;
}

export type AccountMatch =
  | (TargetSignIn & { readonly kind: 'expected' })
  /** The user decides. `known`: the accounts that it could have been; `signedIn`: the subject that the server named. */
  | (TargetSignIn & {
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

/** `there`: the shared sign-ins for this resource at this issuer. */
export function matchAccount(
  there: readonly SignIn[],
  { account, signInId }: Pick<SignInRequest, 'account' | 'signInId'>,
  answer: Pick<TokenResponse, 'subject'>,
): AccountMatch {
  const signedIn = answer.subject?.subject;
  const meant = there.find(({ id }) => id === signInId) ?? there.find((signIn) => signIn.account === account);
  if (meant && isSame(meant, signedIn)) return { kind: 'expected', signIn: meant, account: meant.account };
  const own = ownTarget(there, meant ? undefined : account, signedIn);
  if (meant) return { kind: 'another', ...own, known: [meant.account], signedIn };
  const known = account === undefined ? undefined : signInOf(there.filter(isLiving), signedIn);
  if (account !== undefined && known && signedIn !== undefined) {
    // Nobody named it yet.
    if (known.account === signedIn) return { kind: 'expected', signIn: known, account };
    return { kind: 'mismatch', asked: account, known: known.account, signedIn };
  }
  const others = own.signIn || account !== undefined ? [] : possible(there, signedIn);
  if (others.length === 0) return { kind: 'expected', ...own };
  return { kind: 'another', ...own, known: others.map((signIn) => signIn.account), signedIn };
}

/** False for an account that was kept beside the intended one. */
export function isMeant({ signInId, account }: SignInRequest, signIn: SignIn): boolean {
  if (signInId !== undefined) return signIn.id === signInId || !isShared(signIn);
  return account === undefined || signIn.account === account;
}

/** The same subject, or none on both sides. */
function isSame(signIn: SignIn, signedIn: string | undefined): boolean {
  return subjectOf(signIn) === signedIn;
}

/** The sign-in of a subject, under any name; a living one first. */
function signInOf(there: readonly SignIn[], signedIn: string | undefined): SignIn | undefined {
  if (signedIn === undefined) return undefined;
  const own = there.filter((signIn) => isSame(signIn, signedIn));
  return own.find(isLiving) ?? own[0];
}

/** The sign-in of the account that signed in, if there is one. A new label begins a new one. */
function ownTarget(
  there: readonly SignIn[],
  label: string | undefined,
  signedIn: string | undefined,
): TargetSignIn {
  const account = label ?? signedIn ?? defaultAccount;
  if (label !== undefined) return { account, signIn: undefined };
  const signIn =
    signedIn === undefined
      ? there.find((one) => one.account === account && isSame(one, undefined))
      : signInOf(there, signedIn);
  return { account: signIn?.account ?? account, signIn };
}

/** The accounts that could have signed in, if nobody named one. */
function possible(there: readonly SignIn[], signedIn: string | undefined): SignIn[] {
  const living = there.filter(isLiving);
  // Neither names a subject, so a label doesn't show who signed in.
  return signedIn === undefined ? living.filter((signIn) => subjectOf(signIn) !== undefined) : living;
}
