/**
 * Explains why a sign-in must be renewed after its server refused the refresh token, and describes a refresh with
 * an unknown outcome.
 *
 * Invariants: each sentence states only known facts. An authorization server may keep one authorization for each
 * client and user; if the user revokes one sign-in, it may end the others too (RFC 7009 §2.1 allows it). Such a sign-in
 * opens no sign-in page automatically, because the user wanted less access. A page opens again after the user signs in,
 * or allows the app again.
 */
import { moment, quoted } from '../../base/errors.ts';
import { isWiderThanAsked } from '../records/sign-in.ts';
import type { SignIn, SignInState } from '../records/sign-in.ts';
import type { RefreshAttempt } from '../tokens/sign-in-secret.ts';
import type { Permission } from '../records/permission.ts';

export function lostRefreshSentence({ startedAt, isUnanswered }: RefreshAttempt): string {
  const what = isUnanswered
    ? `The answer to the refresh of ${moment(startedAt)} was lost.`
    : `Keyturn stopped during the refresh of ${moment(startedAt)}.`;
  return `${what} The next refresh will show whether the stored token still works.`;
}

export function whyEnded(attempt: RefreshAttempt | undefined): string {
  if (!attempt) return 'the sign-in provider ended the access';
  const when = moment(attempt.startedAt);
  const known = attempt.isUnanswered
    ? `The answer to the refresh of ${when} was lost, so the provider may have replaced the token`
    : `Keyturn stopped during the refresh of ${when}, so the provider may have replaced the token and its answer may be lost`;
  return `the sign-in provider no longer takes the refresh token. ${known}`;
}

type NeedsSignIn = Extract<SignInState, { kind: 'signInRequired' }>;

/** A sign-in whose refresh token the server refused. Times are milliseconds. */
export interface Dead {
  readonly signIn: SignIn;
  readonly noticedAt: number;
  readonly refreshedAt: number | undefined;
}

/** Its state; `why` applies if no other sign-in explains it. */
export function deadState(
  all: readonly SignIn[],
  dead: Dead,
  why: Pick<NeedsSignIn, 'why' | 'cause'>,
): SignInState {
  const sibling = all.find((signIn) => signIn.id !== dead.signIn.id && mayHaveEnded(signIn, dead));
  if (!sibling?.confirmedEnd) return { kind: 'signInRequired', ...why };
  const when = moment(sibling.confirmedEnd.endedAt);
  const together =
    `the sign-in provider ended it together with the sign-in to ${sibling.resource} (${quoted(sibling.account)}), ` +
    `which you revoked at ${when}`;
  return { kind: 'signInRequired', why: together, awaitsUserSince: dead.noticedAt };
}

/** The dead sign-in was last known to work before the other sign-in ended. */
function mayHaveEnded(ended: SignIn, { signIn, refreshedAt = 0 }: Dead): boolean {
  const { issuer, registrationId, confirmedEnd } = ended;
  // The user did not end one that came wider than asked.
  if (isWiderThanAsked(ended)) return false;
  if (!confirmedEnd || issuer !== signIn.issuer || registrationId !== signIn.registrationId) return false;
  const lastSeen = Math.max(refreshedAt, signIn.signedInAt ?? signIn.createdAt);
  return confirmedEnd.confirmedAt >= lastSeen;
}

/** True until the user signs in, or allows this app again. */
export function waitsForUser({ state }: SignIn, permission: Permission): boolean {
  return state.kind === 'signInRequired' && permission.createdAt <= (state.awaitsUserSince ?? -Infinity);
}
