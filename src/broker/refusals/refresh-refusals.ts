/**
 * Counts refused refreshes where waiting doesn't help: the server refuses the client, the resource, the scopes or the
 * request, or its answer can't be used. None of these refusals says that the refresh token is dead.
 *
 * Invariants: a server is asked a few times in a row, with a pause after each refusal. Then nobody refreshes the grant
 * until a person signs in, enters its client anew, or waives the rule. A refused scope set pauses its own refreshes and
 * ends no grant. The counts are in memory alone; a grant that ended stays ended. On disk a refusal stands in our own
 * words only.
 */
import { KeyturnError, reasonOf } from '../../base/errors.ts';
import type { Reason } from '../../base/errors.ts';
import { ClientRejected } from '../../oauth/grants/token-failure.ts';
import type { GrantState } from '../records/grant.ts';

/** As for a step-up: the first may be an accident, the third is a habit. */
const maxInARow = 3;

const refusals = new Set<Reason>([
  'client_rejected',
  'resource_mismatch',
  'scope_insufficient',
  'login_failed',
  'token_invalid',
  'audience_mismatch',
]);

/** Of an error of a refresh: the server's own answer, and neither a dead refresh token nor a trouble that passes. */
export function isRefusal(error: unknown): error is KeyturnError {
  return refusals.has(reasonOf(error));
}

interface CountedRefusal {
  readonly error: KeyturnError;
  readonly inARow: number;
}

export class RefreshRefusals {
  /** By grant, or by grant and scope set. */
  readonly #counted = new Map<string, CountedRefusal>();

  /** True where it was the last one that the server gets. */
  add(key: string, error: KeyturnError): boolean {
    const inARow = (this.#counted.get(key)?.inARow ?? 0) + 1;
    this.#counted.set(key, { error, inARow });
    return inARow >= maxInARow;
  }

  last(key: string): KeyturnError | undefined {
    return this.#counted.get(key)?.error;
  }

  clear(key: string): void {
    this.#counted.delete(key);
  }

  /** Forgets every refusal whose key begins so. */
  forget(start: string): void {
    for (const key of this.#counted.keys()) {
      if (key.startsWith(start)) this.#counted.delete(key);
    }
  }
}

/** The same refusal, with when the server is asked again; `left` in milliseconds. */
export function refusedUntil({ reason, message, hint, rule }: KeyturnError, left: number): KeyturnError {
  return new KeyturnError(reason, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(rule === undefined ? {} : { rule }),
    retryAfter: Math.ceil(left / 1000),
  });
}

/** Of a grant whose server refused it too often. Its refresh token stays in the vault. */
export function endedByRefusals(error: KeyturnError): GrantState {
  const why = `its server refused ${maxInARow} refreshes in a row: ${kindOf(error)}`;
  return { kind: 'loginRequired', why, isRefused: true };
}

/** Why a refresh token died, where a refusal came before: some servers end the token with it (RFC 8707, invalid_target). */
export function afterRefusal(why: string, error: KeyturnError): string {
  return `${why}; before that the server refused a refresh: ${kindOf(error)}`;
}

/** For a file in plain text: our own words, and no word of the server. It may have repeated the request, secrets too. */
function kindOf(error: KeyturnError): string {
  if (error instanceof ClientRejected) {
    return error.isUnknown
      ? "it doesn't know our client, or not with this secret (invalid_client)"
      : `our client may not refresh tokens there (${error.code})`;
  }
  return kinds.get(error.reason) ?? `it is refused for the reason ${error.reason}`;
}

const kinds = new Map<Reason, string>([
  ['client_rejected', 'the secret or key of our client is missing or unusable'],
  ['resource_mismatch', 'it issues no tokens for this protected server (invalid_target)'],
  ['scope_insufficient', 'it refused the scopes (invalid_scope)'],
  ['login_failed', 'it refused the request (invalid_request)'],
  ['token_invalid', "its answer breaks a rule, so its token can't be used"],
  ['audience_mismatch', 'its token is for another server'],
]);
