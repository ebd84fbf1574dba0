/**
 * A refresh whose outcome isn't known, in words.
 *
 * Invariant: says what is known and no more: that the request may have reached the server, when that
 * was, and whether the broker or only the answer went missing.
 */
import type { Attempt } from '../records/grant.ts';

/** A wall-clock instant (milliseconds since the epoch) for a sentence: UTC, to the second. */
export function moment(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** What stands about an attempt that was left over, as a whole sentence. */
export function attemptSentence({ startedAt, isUnanswered }: Attempt): string {
  const what = isUnanswered
    ? `The server's answer to the refresh of ${moment(startedAt)} was lost.`
    : `The broker ended during the refresh of ${moment(startedAt)}.`;
  return `${what} The next refresh will show whether the server still takes the token that is stored.`;
}

/** Why a grant ended whose refresh token the server no longer takes. */
export function whyEnded(attempt: Attempt | undefined): string {
  if (!attempt) return 'the server ended the refresh token';
  const lost = attempt.isUnanswered ? 'on its way' : 'with the broker';
  return (
    `the server no longer takes the refresh token: it replaced it in the refresh of ` +
    `${moment(attempt.startedAt)}, and its answer was lost ${lost}`
  );
}
