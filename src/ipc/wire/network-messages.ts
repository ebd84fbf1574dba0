/**
 * What an app gets of the broker's own way to servers: settings that a program of the user's would
 * otherwise need again.
 *
 * Invariant: no secret is in it. An answer is used only after the guard here has passed it.
 */
import { maxLength } from './limits.ts';
import { isObject, isText } from './values.ts';

export interface NetworkResult {
  /** Certificate authorities to trust besides the system's, as PEM: certificates and nothing else. */
  readonly authorities?: string;
  /** The URL of the proxy to use, without a user name and a password. */
  readonly httpsProxy?: string;
  /** Hosts that are reached without it, as NO_PROXY lists them. */
  readonly noProxy?: string;
  /** The broker's proxy has a user name and a password, which no app gets. */
  readonly proxyCredentials?: 'withheld';
}

export function isNetworkResult(value: unknown): value is NetworkResult {
  return (
    isObject(value) &&
    isAbsentOr(value['authorities'], maxLength.authorities) &&
    isAbsentOr(value['httpsProxy'], maxLength.url) &&
    isAbsentOr(value['noProxy'], maxLength.setting) &&
    (value['proxyCredentials'] === undefined || value['proxyCredentials'] === 'withheld')
  );
}

const isAbsentOr = (value: unknown, max: number): boolean => value === undefined || isText(value, max);
