/**
 * What a program sends and gets when it delegates access to a child run.
 *
 * Invariant: an answer is used only after the guard here has passed it. A test compares it with the schema of protocol/.
 */
import { type Identity, isIdentity } from './handshake-messages.ts';
import { maxLength } from './limits.ts';
import { isCount, isObject, isText } from './values.ts';

/** `lifetime` in seconds, at most a day. `name`: what this program calls the child, for the person's lists. */
export interface DelegateParams {
  readonly resource: string;
  /** Absent: all scopes that this program has there. */
  readonly scope?: string;
  readonly account?: string;
  readonly lifetime: number;
  readonly name: string;
}

/** `until`: seconds since 1970. */
interface DelegationResult extends Identity {
  readonly resource: string;
  readonly scope: string;
  readonly account: string;
  readonly until: number;
}

/** What was delegated, and whom the child connects as. */
export interface Delegation extends Omit<DelegationResult, keyof Identity> {
  readonly identity: Identity;
}

export function isDelegationResult(value: unknown): value is DelegationResult {
  return (
    isObject(value) &&
    isIdentity(value) &&
    isText(value['resource'], maxLength.url) &&
    isText(value['scope'], maxLength.scope, 0) &&
    isText(value['account'], maxLength.account, 0) &&
    isCount(value['until'])
  );
}
