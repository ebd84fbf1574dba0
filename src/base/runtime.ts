/**
 * Refuses a Node that lacks what the libraries need.
 *
 * Invariant: asks for what is missing and not for a version, since the server roles run where there is no Node.
 */
import { KeyturnError } from './errors.ts';

/** An older Node would fail later, with an error of its own in the middle of a request. Throws `invalid_request`. */
export function requireRuntime(library: string): void {
  if ('withResolvers' in Promise) return;
  throw new KeyturnError('invalid_request', `${library} needs Node 22.19 or newer.`, {
    hint: 'Run this program with a newer Node.',
  });
}
