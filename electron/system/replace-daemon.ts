/**
 * Starts the daemon in this process as the only one of its home: a headless one that has the home is ended first. Where
 * systemd holds the socket (`keyturn service install --socket`), it would start the next one: the user is asked whether
 * that service goes.
 *
 * Invariant: the other broker is asked, never killed: it finishes its rotations first, and the kernel's
 * lock says when it is done. Two brokers never run for one home.
 */
import { connectAsOwner } from '../../src/client/connect.ts';
import { takeOver, timeouts } from '../../src/client/takeover.ts';
import { KeyturnError, reasonOf } from '../../src/base/errors.ts';
import { refuseForeignUnit, removeService, systemdListens } from '../../src/service/user-units.ts';
import { startDaemon, type Daemon, type DaemonOptions } from '../../src/daemon/daemon.ts';

/**
 * Throws what `startDaemon` throws; `broker_running` where the other one stays, or else why systemd could not be asked
 * whether it holds the socket; `conflict` where systemd holds it and `mayRemoveService`, which asks the user, says no, or
 * where the unit isn't Keyturn's: then nobody is asked.
 */
export async function replaceRunningDaemon(
  options: DaemonOptions,
  mayRemoveService: () => Promise<boolean>,
): Promise<Daemon> {
  let isAsked = false;
  /** Why systemd doesn't say whether it holds the socket. */
  const silence: { reason?: unknown } = {};
  const stop = async (): Promise<void> => {
    const isFirst = !isAsked;
    isAsked = true;
    const isHeld = isFirst && (await systemdListens(options.paths, options.env).catch(note));
    if (isHeld) await removeHoldingService(options.env, mayRemoveService);
    else await askToStop(options);
  };
  const note = (reason: unknown): boolean => {
    silence.reason = reason;
    return false;
  };
  try {
    return await takeOver(async () => startDaemon(options), stop);
  } catch (error) {
    // Perhaps systemd starts the other one again and again.
    if (silence.reason !== undefined && reasonOf(error) === 'broker_running') throw silence.reason;
    throw error;
  }
}

/** Stops the broker behind the socket too. */
async function removeHoldingService(
  env: DaemonOptions['env'],
  mayRemoveService: () => Promise<boolean>,
): Promise<void> {
  refuseForeignUnit('keyturn.socket', env);
  if (!(await mayRemoveService())) throw heldBySystemd();
  await removeService(env);
}

function heldBySystemd(): KeyturnError {
  return new KeyturnError('conflict', 'systemd holds the socket of this home.', {
    hint: 'Run `keyturn service uninstall`, then start the app again.',
  });
}

async function askToStop({ paths, env }: DaemonOptions): Promise<void> {
  try {
    const connection = await connectAsOwner({ paths, env });
    const signal = AbortSignal.timeout(timeouts.stop);
    await connection.request('broker.stop', {}, { signal }).finally(() => connection.close());
  } catch {
    // Starting or stopping at this moment: the next look at the lock tells.
  }
}
