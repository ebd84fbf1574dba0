/**
 * Stops the broker that runs, and starts another in the background.
 *
 * Invariant: the next one is started only when the process of the last is gone, and with it the
 * home's lock; what that owed is in the vault by then.
 */
import type { Connection } from '../../client/connection.ts';
import { KeyturnError, reasonOf } from '../../base/errors.ts';
import { homePaths, type HomePaths } from '../../base/paths.ts';
import { startBroker } from './auto-start.ts';
import { brokerEnded, isFree, watchBroker } from './broker-end.ts';
import { connectIfRunning } from './connection.ts';
import { lockHolder } from '../../daemon/home/lock-holder.ts';
import { say } from '../terminal/output.ts';

/** False if none ran. Throws `broker_running` if one still runs. Any answer will do, so any version of a broker. */
export async function stopBroker(): Promise<boolean> {
  const connection = await ownConnection();
  if (typeof connection === 'boolean') return connection;
  try {
    const ended = watchBroker(homePaths().state);
    await connection.request('broker.stop');
    return requireEnd(await ended());
  } finally {
    connection.close();
  }
}

function requireEnd(hasEnded: boolean): true {
  if (hasEnded) return true;
  throw new KeyturnError('broker_running', 'The broker was told to stop, and still runs.', {
    hint: 'Try again in a minute. If it still runs, end its process.',
  });
}

/**
 * True if a broker that can't be asked was ended; false if none runs. A broker of this home that has no socket, or
 * doesn't prove itself (owner.key was exchanged or deleted), gets no request, but a signal: it ends as
 * after `broker.stop`.
 */
async function ownConnection(): Promise<Connection | boolean> {
  const paths = homePaths();
  try {
    return (await connectIfRunning()) ?? (await endHolder(paths));
  } catch (error) {
    const isHeld = ['handshake_failed', 'file_unreadable', 'socket_unsafe'].includes(reasonOf(error));
    if (isHeld && (await endHolder(paths))) return true;
    // An owner.key that can't be read, and nobody holds the home.
    if (reasonOf(error) === 'file_unreadable') return false;
    throw error;
  }
}

async function endHolder({ state }: HomePaths): Promise<boolean> {
  const pid = lockHolder(state);
  if (pid === undefined) return refuseHeld(state);
  say(
    `keyturn: the broker of this home (process ${pid}) takes no request of this command; a signal ends it.`,
  );
  process.kill(pid, 'SIGTERM');
  return requireEnd(await brokerEnded(pid));
}

/** False: nobody holds the lock. The system doesn't tell of a holder in another container, or on another machine. */
async function refuseHeld(state: string): Promise<false> {
  if (await isFree(state)) return false;
  throw new KeyturnError(
    'broker_running',
    `A broker holds this home (${state}), and can't be reached from here.`,
    { hint: 'It runs where this terminal does not see it, such as in another container: end it there.' },
  );
}

export async function restartBroker(): Promise<void> {
  await stopBroker();
  (await startBroker()).close();
}
