/**
 * What a refresh without a token means: for the client, for the sign-in, and for the next try.
 *
 * Invariants: an attempt stays in the vault's item until it is known what the server did with the stored token. Each
 * sentence states only known facts. An authorization server may keep one authorization for each client and user; if the
 * user revokes one sign-in, it may end the others too (RFC 7009 §2.1 allows it). Such a sign-in opens no sign-in page
 * automatically, because the user wanted less access. A page opens again after the user signs in, or allows the app
 * again.
 */
import { firstEndpoint, isWiderThanAsked, type SignIn, type SignInState } from '../records/sign-in.ts';
import type { Audit } from '../../audit/audit.ts';
import { Backoff } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { KeyturnError, moment, quoted, reasonOf, shellWord, Unreachable } from '../../base/errors.ts';
import { ResponseLost } from '../../oauth/base/http.ts';
import { ClientRejected, UnclearRefusal } from '../../oauth/grants/token-failure.ts';
import type { SignInSecret, RefreshAttempt } from './sign-in-secret.ts';
import type { SignIns } from '../records/sign-ins.ts';
import type { Permission } from '../records/permission.ts';
import {
  afterRefusal,
  endedByRefusals,
  isRefusal,
  refusedUntil,
  RefreshRefusals,
} from '../refusals/refresh-refusals.ts';
import { serverResting, unreachableUntil } from '../refusals/refusals.ts';
import type { RegistrationRecord } from '../records/registrations.ts';
import { scopeKey } from './token-cache.ts';

export interface Progress {
  /** A new refresh token has come, and is not in the vault yet. */
  isRotating: boolean;
  /** The secret with the new refresh token, once the vault has it. */
  rotated?: SignInSecret;
}

export interface FailedRefresh {
  readonly error: unknown;
  readonly progress: Progress;
  readonly secret: SignInSecret;
  readonly registrationRecord: RegistrationRecord;
  /** Undefined: all scopes of the sign-in were asked for. */
  readonly scope: readonly string[] | undefined;
}

export const keyOfSet = (signInId: string, scope: readonly string[]): string =>
  `${setsOf(signInId)}${scopeKey(scope)}`;

/** The prefix of the keys of all scope sets of a sign-in. */
const setsOf = (signInId: string): string => `${signInId} `;

/**
 * What the backoff counts by. If the server refused to narrow (RFC 6749 §6), with any error, only this scope set waits,
 * because the refusal says nothing about the sign-in's own scopes. A forgotten client and a dead refresh token (no
 * refusal, but `login_required`) concern every refresh of the sign-in.
 */
export function backoffKeyOf({ id }: SignIn, { error, registrationRecord, scope }: FailedRefresh): string {
  const isNarrowing =
    scope !== undefined && isRefusal(error) && !isForgottenRegistration(error, registrationRecord);
  return isNarrowing ? keyOfSet(id, scope) : id;
}

/** A registration that we made, and that the server no longer knows. */
export function isForgottenRegistration(error: unknown, { registration }: RegistrationRecord): boolean {
  return error instanceof ClientRejected && error.isUnknown && registration.source === 'dynamic';
}

/** The attempt in the item after a request without a new refresh token: gone once the outcome is known. */
export function attemptAfter(
  attempt: RefreshAttempt | undefined,
  { error, secret }: Pick<FailedRefresh, 'error' | 'secret'>,
): RefreshAttempt | undefined {
  const reason = reasonOf(error);
  if (reason === 'login_required') return undefined;
  const isLost = error instanceof ResponseLost || reason === 'internal';
  return secret.attempt ?? (isLost && attempt ? { ...attempt, isUnanswered: true } : undefined);
}

/** Some servers forget a client for a moment only: a later refresh may find it. */
const clientForgotten: SignInState = {
  kind: 'signInRequired',
  why: 'the sign-in provider no longer knows Keyturn’s OAuth client',
  isRefused: true,
  mayRefreshAgain: true,
};

/** Our registration that the server forgot takes its refresh tokens with it: the next sign-in registers again. */
export function registrationForgotten({ registration }: RegistrationRecord): KeyturnError {
  return new KeyturnError(
    'login_required',
    `${quoted(registration.issuer)} no longer knows our registration.`,
    { rule: 'RFC 6749 §5.2 (invalid_client)', hint: 'Sign in again; Keyturn registers again.' },
  );
}

/** Its server refused it in words of its own, or didn't know the client: a later refresh may succeed. */
const maySucceedAgain = ({ state, hasRefreshToken }: SignIn): boolean =>
  state.kind === 'signInRequired' && state.mayRefreshAgain === true && hasRefreshToken;

export type HeldSignIn = SignIn & { readonly item: string };

export const isHeld = (signIn: SignIn): signIn is HeldSignIn => signIn.item !== undefined;

/** A sign-in that may be refreshed. Throws `login_required`. */
export function activeSignIn(signIns: SignIns, signInId: string): HeldSignIn {
  const signIn = signIns.byId(signInId);
  if (signIn && isHeld(signIn) && (signIn.state.kind === 'active' || maySucceedAgain(signIn))) return signIn;
  throw new KeyturnError('login_required', `The sign-in ${signInId} is no longer active.`, {
    hint: signIn
      ? `Sign in again: keyturn login ${shellWord(firstEndpoint(signIn))}`
      : 'Sign in with `keyturn login URL`.',
  });
}

export function signInRequired(signIn: SignIn, why: string): KeyturnError {
  return new KeyturnError(
    'login_required',
    `The sign-in for ${signIn.resource} can't be refreshed: ${why}.`,
    {
      hint: `Sign in again: keyturn login ${shellWord(firstEndpoint(signIn))}`,
    },
  );
}

export function endedError(signIn: SignIn): KeyturnError {
  return new KeyturnError('conflict', `The sign-in ${signIn.id} was ended while it was refreshed.`, {
    hint: 'Try again: the newer state is used.',
  });
}

export interface FailureParts {
  readonly clock: Clock;
  readonly signIns: SignIns;
  readonly audit: Audit;
}

/** What failed refreshes come to, counted until a success. */
export class RefreshFailures {
  /** Of every server that gives tokens, by sign-in, or by sign-in and scope set. */
  readonly backoff: Backoff;
  /** The vault refused the last refresh, or the home's settings wait for an answer: only requests ask on. */
  isUpkeepHeld = false;
  readonly #parts: FailureParts;
  /** By sign-in; and by sign-in and scope set where the server can't narrow to it. */
  readonly refusals = new RefreshRefusals();

  constructor(parts: FailureParts) {
    this.#parts = parts;
    this.backoff = new Backoff(() => parts.clock.now());
  }

  /** A server gave tokens: what it refused is forgotten. `key`: of a sign-in, or of its scope set. */
  forget(key: string): void {
    this.backoff.succeeded(key);
    this.refusals.clear(key);
  }

  /** The user changed what the server refused, a client or a rule: its refusals are forgotten. */
  async tryAgain(refused: readonly SignIn[]): Promise<void> {
    const { signIns } = this.#parts;
    for (const { id } of refused) {
      this.forget(id);
      this.backoff.forget(setsOf(id));
      this.refusals.forget(setsOf(id));
      const signIn = signIns.byId(id);
      const isRefused = signIn?.state.kind === 'signInRequired' && signIn.state.isRefused === true;
      if (signIn && isRefused) await signIns.change(signIn, { state: { kind: 'active' } });
    }
  }

  /** A later refresh may succeed, and its server may be asked again now. */
  mayRefreshAgain(signIn: SignIn): boolean {
    return maySucceedAgain(signIn) && this.backoff.left(signIn.id) <= 0;
  }

  /** Counts the refusal for `key`. The state that it leaves the sign-in in; undefined: it stays as it is. */
  count(
    signIn: SignIn,
    { error, secret, registrationRecord }: FailedRefresh,
    key: string,
  ): SignInState | undefined {
    const { signIns, clock } = this.#parts;
    const earlier = this.refusals.last(signIn.id);
    if (reasonOf(error) === 'login_required') {
      const ended = whyEnded(secret.attempt);
      const dead = { signIn, noticedAt: clock.wall(), refreshedAt: secret.refreshedAt };
      return deadState(signIns.all(), dead, {
        why: earlier ? afterRefusal(ended, earlier) : ended,
        cause: secret.attempt ? undefined : 'refreshTokenEnded',
      });
    }
    if (error instanceof UnclearRefusal) return this.refusals.addUnclear(signIn.id, clock.now());
    if (!isRefusal(error)) return undefined;
    if (isForgottenRegistration(error, registrationRecord)) return clientForgotten;
    const isLast = this.refusals.add(key, error);
    return isLast && key === signIn.id ? endedByRefusals(error) : undefined;
  }

  /** The error as the user gets it, written down; `key`: what the backoff counts by, but for a sign-in that ended. */
  note({ id, issuer }: SignIn, error: unknown, { key = id, isEnded = false } = {}): unknown {
    const reason = reasonOf(error);
    this.#parts.audit.note({ event: 'refresh', outcome: reason, signIn: id, issuer });
    if (reason === 'locked' || reason === 'vault_unavailable') this.isUpkeepHeld = true;
    // No waiting helps a sign-in that ended.
    if (isRefusal(error)) return isEnded ? error : refusedUntil(error, this.backoff.failed(key));
    if (!(error instanceof Unreachable)) return error;
    return unreachableUntil(error, this.backoff.failed(id, error.retryAfter));
  }

  /** A server in trouble isn't asked with every request of every app. */
  obeyBackoff(key: string, { resource }: SignIn): void {
    const left = this.backoff.left(key);
    if (left <= 0) return;
    const refusal = this.refusals.last(key);
    throw refusal ? refusedUntil(refusal, left) : serverResting(resource, left);
  }
}

export function lostRefreshSentence({ startedAt, isUnanswered }: RefreshAttempt): string {
  const what = isUnanswered
    ? `The answer to the refresh of ${moment(startedAt)} was lost.`
    : `Keyturn stopped during the refresh of ${moment(startedAt)}.`;
  return `${what} The next refresh will show whether the stored token still works.`;
}

function whyEnded(attempt: RefreshAttempt | undefined): string {
  if (!attempt) return 'the sign-in provider ended the access';
  const when = moment(attempt.startedAt);
  const known = attempt.isUnanswered
    ? `The answer to the refresh of ${when} was lost, so the provider may have replaced the token`
    : `Keyturn stopped during the refresh of ${when}, so the provider may have replaced the token and its answer may be lost`;
  return `the sign-in provider no longer takes the refresh token. ${known}`;
}

type NeedsSignIn = Extract<SignInState, { kind: 'signInRequired' }>;

/** A sign-in whose refresh token the server refused. Times are milliseconds. */
interface Dead {
  readonly signIn: SignIn;
  readonly noticedAt: number;
  readonly refreshedAt: number | undefined;
}

/** Its state; `why` applies if no other sign-in explains it. */
function deadState(all: readonly SignIn[], dead: Dead, why: Pick<NeedsSignIn, 'why' | 'cause'>): SignInState {
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
