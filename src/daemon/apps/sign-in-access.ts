/**
 * Who started which sign-in, and who sees its address and its codes.
 *
 * Invariant: while the Keyturn app runs, a connection sees the address and the codes of the sign-ins that it started
 * itself, and finishes no other. The user's windows see and finish all. Elsewhere every command of the user's does:
 * there `keyturn request list` is how the user finishes a sign-in that an app started.
 */
import type { Question } from '../../broker/approval-requests/question.ts';
import { isStartedBy, type Starter } from '../../broker/approval-requests/starter.ts';
import type { Caller } from '../../ipc/server/server.ts';

/** Of one way in: the socket, or the windows. */
export interface SignInAccess {
  starterOf(caller: Caller): Starter;
  /**
   * Whether this caller sees how to finish the sign-in, and may finish it; or sees the address that a server wants
   * opened. True for questions that have no address.
   */
  mayFinish(caller: Caller, question: Question): boolean;
  /** Whether this caller started the sign-in, or joined it. */
  isOwn(caller: Caller, question: Question): boolean;
}

export const windowAccess: SignInAccess = {
  starterOf: () => ({ by: 'window' }),
  mayFinish: () => true,
  isOwn: () => false,
};

/** `isKeyturnApp`: whether a user sits at windows of the broker's own. */
export function socketAccess(isKeyturnApp: () => boolean): SignInAccess {
  const numbers = new WeakMap<Caller, number>();
  let last = 0;
  const numberOf = (caller: Caller): number => {
    const number = numbers.get(caller) ?? (last += 1);
    numbers.set(caller, number);
    return number;
  };
  const isOwn = (caller: Caller, question: Question): boolean =>
    isSignIn(question) && isStartedBy(question, numberOf(caller));
  return {
    isOwn,
    starterOf: (caller) => ({ by: 'command', connection: numberOf(caller) }),
    mayFinish: (caller, question) => {
      if (!isKeyturnApp()) return true;
      // Some server's own sign-in may lie behind it.
      if (question.kind === 'url') return false;
      return !isSignIn(question) || isOwn(caller, question);
    },
  };
}

function isSignIn(question: Question): question is Question & { readonly kind: 'signIn' | 'device' } {
  return question.kind === 'signIn' || question.kind === 'device';
}
