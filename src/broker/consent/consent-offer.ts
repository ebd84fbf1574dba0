/**
 * What the card for an app shows and an approval gives: scopes, and the sign-in that would be used.
 *
 * Invariant: the card lists what the app would get now. An app that names no scopes would get all scopes of its
 * sign-ins, so the card lists those; it lists none only if nobody has signed in yet.
 */
import { union } from '../../oauth/base/scope.ts';
import { chooseSignIn } from './sign-in-choice.ts';
import type { WantedSignIn } from './sign-in-choice.ts';
import type { SignIn } from '../records/sign-in.ts';
import type { SignIns } from '../records/sign-ins.ts';
import type { Need, Permission } from '../records/permission.ts';
import type { OfferedSignIn } from '../approval-requests/question.ts';

export interface Offer {
  readonly scope: readonly string[];
  /** Ids of the sign-ins that the app may use after an approval. */
  readonly signInIds: readonly string[];
  readonly namedSignIn: OfferedSignIn | undefined;
}

/** `allowed`: all that the app is allowed there now. */
export function offerFor(
  signIns: SignIns,
  wanted: WantedSignIn & Need,
  allowed: readonly Permission[],
): Offer {
  const named = union(...allowed.map((had) => had.signInIds ?? []));
  const signIn = serving(signIns, wanted, allowed);
  const others = signIns.all().filter(({ id }) => named.includes(id) && id !== signIn?.id);
  const asked = union(...allowed.map((had) => had.scope ?? []), wanted.scope);
  const isOpen = asked.length === 0 || allowed.some((had) => had.scope === undefined);
  const granted = [...others, ...(signIn ? [signIn] : [])].map(({ scope }) => scope);
  return {
    scope: isOpen ? union(...granted, asked) : asked,
    signInIds: union(named, signIn ? [signIn.id] : []),
    namedSignIn: signIn && {
      id: signIn.id,
      issuer: signIn.issuer,
      account: signIn.account,
      isKeyBound: signIn.isKeyBound ?? false,
      otherAccounts: others.map(({ account }) => account),
      isAnother: wanted.signInId !== undefined,
    },
  };
}

function serving(
  signIns: SignIns,
  wanted: WantedSignIn & Need,
  allowed: readonly Permission[],
): SignIn | undefined {
  if (wanted.signInId !== undefined) return signIns.byId(wanted.signInId);
  const choice = chooseSignIn(signIns.forEndpoint(wanted.endpoint), wanted, allowed);
  return choice.kind === 'use' || choice.kind === 'ask' ? choice.signIn : undefined;
}
