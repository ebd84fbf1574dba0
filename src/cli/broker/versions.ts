/**
 * Broker and command of different versions: says so, and how to fix it.
 *
 * Invariant: a difference of versions refuses nothing. A user at a terminal reads of it, and so does
 * anybody whose command fails probably because of it. Loads no package: the lean `keyturn token` comes here too.
 */
import type { Connection } from '../../client/connection.ts';
import { version } from '../../daemon/system/version.ts';
import { KeyturnError, type Reason, reasonOf } from '../../base/errors.ts';
import { versionCapability, versionIn } from '../../ipc/wire/capabilities.ts';
import { say } from '../terminal/output.ts';
import { confirmed, isAtTerminal } from '../terminal/standard-input.ts';

/** A request failed, and the broker is of another version. */
export class VersionDifference extends KeyturnError {}

export const fix = 'keyturn broker restart';

/** What a newer or older broker answers to a request that it knows otherwise, or not at all. */
const symptoms: readonly Reason[] = ['method_not_found', 'frame_invalid'];

/** One sentence; undefined where both are of one version. */
export function difference({ capabilities }: Pick<Connection, 'capabilities'>): string | undefined {
  const broker = versionIn(capabilities);
  if (broker === versionIn(versionCapability(version))) return undefined;
  return `The running broker is of ${broker === undefined ? 'an older version' : `version ${broker}`}, this command of ${version}.`;
}

/** One line for a user at a terminal. */
export function tellDifference(connection: Connection): void {
  const sentence = difference(connection);
  if (sentence !== undefined) say(`keyturn: ${sentence} To start this one: ${fix}`);
}

/** The error, or one that names the versions where they are the likely reason of it. */
export function explained(error: unknown, connection: Connection): unknown {
  const sentence = symptoms.includes(reasonOf(error)) ? difference(connection) : undefined;
  if (sentence === undefined || !(error instanceof Error)) return error;
  return new VersionDifference(reasonOf(error), `${error.message.replace(/\.?$/, '.')} ${sentence}`, {
    hint: `Restart the broker: ${fix}`,
    cause: error,
  });
}

/** Asks at a terminal; false everywhere else, and for any answer but yes. */
export async function wantsRestart(): Promise<boolean> {
  return isAtTerminal() && confirmed('keyturn: restart the broker now? Refreshes are finished first. ');
}
