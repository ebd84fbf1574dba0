/**
 * Access for a child run: a program that starts others gives each one resource, with less than it has itself.
 *
 * Invariant: nothing is asked again by itself. A lost answer leaves a delegation that nobody can use, and that ends in
 * its time.
 */
import { KeyturnError } from '../base/errors.ts';
import { type DelegateParams, type Delegation, isDelegationResult } from '../ipc/wire/delegation-messages.ts';
import type { Connection, RequestOptions } from './connection.ts';

/**
 * Lets a child run reach one resource, with at most what this program has there. The child connects with
 * `connect({ key: identity })`: hand `identity` over by a pipe or a file of mode 0600, never in its arguments. It is over
 * at `until` (seconds since 1970), with this program's own permission, and when the broker stops. Throws what
 * docs/wire.md lists for `lease.delegate`.
 */
export async function delegate(
  connection: Connection,
  params: DelegateParams,
  options?: RequestOptions,
): Promise<Delegation> {
  const result = await connection.request('lease.delegate', params, options);
  if (!isDelegationResult(result)) throw malformed();
  const { clientId, key, brokerId, resource, scope, account, until } = result;
  return { identity: { clientId, key, brokerId }, resource, scope, account, until };
}

/** Ends a delegation before its time. Throws `not_found` where it is over already. */
export async function endDelegation(
  connection: Connection,
  { identity }: Pick<Delegation, 'identity'>,
): Promise<void> {
  await connection.request('lease.end', { clientId: identity.clientId });
}

function malformed(): KeyturnError {
  return new KeyturnError('frame_invalid', "the broker's answer to lease.delegate is malformed", {
    hint: 'Broker and client may be of different releases: update the older.',
  });
}
