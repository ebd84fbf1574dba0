/**
 * Counts refused refreshes that waiting can't fix: the server refuses the client, the resource, the scopes or the
 * request, wants the user first, or its answer is unusable. None of these refusals shows that the refresh token is dead.
 *
 * Invariants: a server gets a few tries in a row, with a pause after each refusal. After that the sign-in isn't
 * refreshed until a user signs in, enters its client again, or waives the rule. A refused scope set pauses only its
 * own refreshes and ends no sign-in. The counts are in memory only; a sign-in that ended stays ended. On disk a refusal
 * is stored in our own words only. A refusal in the server's own words (`UnclearRefusal`) ends the sign-in only if it
 * comes again after a minute, without a success between; even then a later refresh may revive the sign-in.
 */
import { KeyturnError, reasonOf, detailsOf, type Reason } from '../../base/errors.ts';
import { ClientRejected, UserWanted } from '../../oauth/grants/token-failure.ts';
import type { SignInState } from '../records/sign-in.ts';

/** Milliseconds: a server in trouble that answers in JSON has time to recover. */
const unclearFor = 60_000;

/** As for a step-up: one refusal may be an accident, three in a row are not. */
const maxInARow = 3;

const refusals = new Set<Reason>([
  'client_rejected',
  'resource_mismatch',
  'scope_insufficient',
  'login_failed',
  'token_invalid',
  'audience_mismatch',
]);

/** True for the server's own refusal of a refresh, unless the refresh token is dead or the failure is temporary. */
export function isRefusal(error: unknown): error is KeyturnError {
  return refusals.has(reasonOf(error));
}

export class RefreshRefusals {
  /** By sign-in, or by sign-in and scope set. */
  readonly #counted = new Map<string, { readonly error: KeyturnError; readonly inARow: number }>();
  /** By sign-in: the time of the first unclear refusal since the last success. */
  readonly #unclearSince = new Map<string, number>();

  /** True if this was the last try that the server gets. */
  add(key: string, error: KeyturnError): boolean {
    const inARow = (this.#counted.get(key)?.inARow ?? 0) + 1;
    this.#counted.set(key, { error, inARow });
    return inARow >= maxInARow;
  }

  /** `now` in milliseconds, monotonic. The state that the refusals leave the sign-in in; undefined: it stays as it is. */
  addUnclear(signInId: string, now: number): SignInState | undefined {
    const since = this.#unclearSince.get(signInId) ?? now;
    this.#unclearSince.set(signInId, since);
    if (now - since < unclearFor) return undefined;
    const why = 'the sign-in provider refused to refresh it, without a reason that Keyturn knows';
    return { kind: 'signInRequired', why, isRefused: true, mayRefreshAgain: true };
  }

  /** What the server said to the last refresh, where that was a clear no. */
  last(key: string): KeyturnError | undefined {
    return this.#counted.get(key)?.error;
  }

  clear(key: string): void {
    this.#counted.delete(key);
    this.#unclearSince.delete(key);
  }

  forget(start: string): void {
    for (const key of this.#counted.keys()) {
      if (key.startsWith(start)) this.#counted.delete(key);
    }
  }
}

/** The same refusal, with the time of the next try; `left` in milliseconds. */
export function refusedUntil(error: KeyturnError, left: number): KeyturnError {
  const { reason, message } = error;
  return new KeyturnError(reason, message, { ...detailsOf(error), retryAfter: Math.ceil(left / 1000) });
}

/** The state of a sign-in whose server refused it too often. Its refresh token stays in the vault. */
export function endedByRefusals(error: KeyturnError): SignInState {
  const why = `the sign-in provider refused to refresh it ${maxInARow} times in a row: ${kindOf(error)}`;
  return { kind: 'signInRequired', why, isRefused: true };
}

/** Why a refresh token died after a refusal: some servers end the token with the refusal (RFC 8707, invalid_target). */
export function afterRefusal(why: string, error: KeyturnError): string {
  return `${why}. Before that, it refused a refresh: ${kindOf(error)}`;
}

/** For a plain text file: only our own words. The server's text may repeat the request, including secrets. */
function kindOf(error: KeyturnError): string {
  if (error instanceof ClientRejected) {
    return error.isUnknown
      ? 'it does not know Keyturn’s OAuth client, or not with this secret (invalid_client)'
      : `Keyturn’s OAuth client may not refresh tokens there (${error.code})`;
  }
  if (error instanceof UserWanted) return `it wants you to sign in there (${error.code})`;
  return kinds.get(error.reason) ?? `it is refused for the reason ${error.reason}`;
}

const kinds = new Map<Reason, string>([
  ['client_rejected', 'the secret or private key of Keyturn’s OAuth client is missing or unusable'],
  ['resource_mismatch', 'it issues no tokens for this server (invalid_target)'],
  ['scope_insufficient', 'it refused the scopes (invalid_scope)'],
  ['login_failed', 'it refused the request (invalid_request)'],
  ['token_invalid', 'its answer breaks a rule, so the token can’t be used'],
  ['audience_mismatch', 'the token is for another server'],
]);
