/**
 * `keyturn token` at the far end of a forward, where no owner is: an app like any other, paired once.
 *
 * Invariant: without a user to ask, nothing is asked.
 */
import { connect } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';
import { forwardedName as name } from './asked.ts';
import { sayCode } from './entry-connect.ts';
import { forgetRefusal, isPaired, pairEntry } from './pairing.ts';

/** Milliseconds, as long as a card stays. */
const maxWait = 600_000;

/** Throws what `pair` and `connect` throw. */
export async function connectForwardedToken(isUnattended: boolean): Promise<Connection> {
  if (!isUnattended && !isPaired(name)) {
    forgetRefusal(name);
    await pairEntry(name, (code) => sayCode(name, code), AbortSignal.timeout(maxWait));
  }
  return connect({ name });
}
