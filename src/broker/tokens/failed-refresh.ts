/**
 * What a refresh without a token means: for the client, for the grant, and for the next try.
 *
 * Invariant: an attempt stays in the vault's item until it is known what the server did with the stored token.
 */
import { KeyturnError, quoted, reasonOf, shellWord } from '../../base/errors.ts';
import { ResponseLost } from '../../oauth/base/http.ts';
import { ClientRejected } from '../../oauth/grants/token-failure.ts';
import type { GrantSecret } from '../grants/grant-secret.ts';
import type { RefreshAttempt } from '../records/refresh-attempt.ts';
import type { Grant, GrantState } from '../records/grant.ts';
import type { Grants } from '../records/grants.ts';
import { isRefusal } from '../refusals/refresh-refusals.ts';
import type { RegistrationRecord } from '../records/registrations.ts';
import { scopeKey } from './token-cache.ts';

/** What is known of a request under way. */
export interface Progress {
  /** A new refresh token has come, and is not in the vault yet. */
  isRotating: boolean;
  /** The secret with the new refresh token, once the vault has it. */
  rotated?: GrantSecret;
}

export interface FailedRefresh {
  readonly error: unknown;
  readonly progress: Progress;
  /** The secret as it was read. */
  readonly secret: GrantSecret;
  readonly record: RegistrationRecord;
  /** Undefined: all scopes of the grant were asked for. */
  readonly scope: readonly string[] | undefined;
}

/** The key for one scope set of a grant. */
export const keyOfSet = (grantId: string, scope: readonly string[]): string =>
  `${setsOf(grantId)}${scopeKey(scope)}`;

/** The prefix of the keys of all scope sets of a grant. */
export const setsOf = (grantId: string): string => `${grantId} `;

/**
 * The key of the pause. If the server refused to narrow (RFC 6749 §6), with any error, only this scope set pauses,
 * because the refusal says nothing about the grant's own scopes. A forgotten client and a dead refresh token (no
 * refusal, but `login_required`) concern every refresh of the grant.
 */
export function pausedBy({ id }: Grant, { error, record, scope }: FailedRefresh): string {
  const isNarrowing = scope !== undefined && isRefusal(error) && !isForgottenRegistration(error, record);
  return isNarrowing ? keyOfSet(id, scope) : id;
}

/** A registration that we made, and that the server no longer knows. */
export function isForgottenRegistration(error: unknown, { registration }: RegistrationRecord): boolean {
  return error instanceof ClientRejected && error.isUnknown && registration.source === 'dynamic';
}

/**
 * The attempt in the item after a request that brought no new refresh token: removed once it is known what the server
 * did with the stored one.
 */
export function attemptAfter(
  attempt: RefreshAttempt | undefined,
  { error, secret }: Pick<FailedRefresh, 'error' | 'secret'>,
): RefreshAttempt | undefined {
  const reason = reasonOf(error);
  if (reason === 'login_required') return undefined;
  const isLost = error instanceof ResponseLost || reason === 'internal';
  return secret.attempt ?? (isLost && attempt ? { ...attempt, isUnanswered: true } : undefined);
}

export const clientForgotten: GrantState = {
  kind: 'loginRequired',
  why: 'the sign-in provider no longer knows Keyturn’s OAuth client',
  isRefused: true,
};

/** A registration of ours that the server forgot takes its refresh tokens with it: the next sign-in registers again. */
export function registrationForgotten({ registration }: RegistrationRecord): KeyturnError {
  return new KeyturnError(
    'login_required',
    `${quoted(registration.issuer)} no longer knows our registration.`,
    { rule: 'RFC 6749 §5.2 (invalid_client)', hint: 'Sign in again; Keyturn registers again.' },
  );
}

/** Its server refused it in words of its own: a later refresh may succeed. */
export const isRevivable = ({ state, hasRefreshToken }: Grant): boolean =>
  state.kind === 'loginRequired' && state.mayRevive === true && hasRefreshToken;

/** A grant with tokens in the vault. */
export type HeldGrant = Grant & { readonly item: string };

export const isHeld = (grant: Grant): grant is HeldGrant => grant.item !== undefined;

/** A grant that may be refreshed. Throws `login_required`. */
export function activeGrant(grants: Grants, grantId: string): HeldGrant {
  const grant = grants.byId(grantId);
  if (grant && isHeld(grant) && (grant.state.kind === 'active' || isRevivable(grant))) return grant;
  throw new KeyturnError('login_required', `The grant ${grantId} is no longer active.`, {
    hint: grant
      ? `Sign in again: keyturn login ${shellWord(grant.endpoints[0] ?? grant.resource)}`
      : 'Sign in with `keyturn login URL`.',
  });
}

export function loginRequired(grant: Grant, why: string): KeyturnError {
  return new KeyturnError('login_required', `The grant for ${grant.resource} can't be refreshed: ${why}.`, {
    hint: `Sign in again: keyturn login ${shellWord(grant.endpoints[0] ?? grant.resource)}`,
  });
}

export function endedError(grant: Grant): KeyturnError {
  return new KeyturnError('conflict', `The grant ${grant.id} was ended while it was refreshed.`, {
    hint: 'Try again: the newer state is used.',
  });
}
