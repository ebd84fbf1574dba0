/**
 * Reaches a broker that lives and can't be asked: its socket is gone, or the owner's key is.
 *
 * Invariant: a signal goes only to the process that the kernel names as the holder of the home's lock. Where nobody
 * holds it, or the system doesn't tell who, none is sent: then the broker finds out by itself within 10 s.
 */
import { existsSync } from 'node:fs';
import { KeyturnError, reasonOf } from '../../base/errors.ts';
import { type HomePaths, homePaths, ownerKeyFile } from '../../base/paths.ts';
import { connectAsOwner } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';
import { retry } from '../../client/takeover.ts';
import { lockHolder } from '../../daemon/home/lock-holder.ts';
import { isAbsent } from './no-broker.ts';

/** Milliseconds. A broker that holds the home makes a socket within a few of them, or is about to end. */
const answerTimeout = 1000;

/** `refusal`: why the broker wasn't reached. Undefined where none runs. Throws `file_unreadable` where the key is lost. */
export async function connectToHolder(refusal: unknown): Promise<Connection | undefined> {
  const paths = homePaths();
  const pid = lockHolder(paths.state);
  if (pid === undefined) return undefined;
  // One that is still starting listens soon. Once it does, the signal would end it as a closed terminal would.
  const starting = await connectSoon();
  if (starting) return starting;
  const lost = keyLost(paths);
  if (lost) throw lost;
  return reasonOf(refusal) !== 'unpaired' && wake(pid) ? connectSoon() : undefined;
}

/** Undefined if no broker answers within a second. */
export async function connectSoon(): Promise<Connection | undefined> {
  try {
    return await retry(async () => connectAsOwner(), {
      waitAfter: (error) => (isAbsent(error) ? answerTimeout : undefined),
    });
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** For a home whose broker runs. */
export function keyLost(paths: HomePaths): KeyturnError | undefined {
  const file = ownerKeyFile(paths);
  if (existsSync(file)) return undefined;
  return new KeyturnError(
    'file_unreadable',
    `${file} is missing, and a broker runs that knows no other app key.`,
    {
      rule: 'The command proves with owner.key that it is yours',
      hint: 'Put the file back, or run keyturn broker restart: the next broker makes a new one.',
    },
  );
}

function wake(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGHUP');
  } catch {
    // It ended meanwhile.
    return false;
  }
}
