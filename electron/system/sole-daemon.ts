/**
 * Starts the daemon in this process as the only one of its home: a headless one that has the home is ended first. Where
 * systemd holds the socket (`keyturn service install --socket`), it would start the next one: the person is asked whether
 * that service goes.
 *
 * Invariant: the other broker is asked, never killed: it finishes its rotations first, and the kernel's
 * lock says when it is done. Two brokers never run for one home.
 */
import { connectAsOwner } from '../../src/client/connect.ts';
import { takeOver, timeouts } from '../../src/client/takeover.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { refuseForeignUnit, removeService, systemdListens } from '../../src/service/user-units.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import type { Daemon, DaemonOptions } from '../../src/daemon/daemon.ts';

/**
 * Throws what `startDaemon` throws; `broker_running` where the other one stays; `conflict` where systemd holds the socket
 * and `mayRemoveService`, which asks the person, says no, or where the unit isn't Keyturn's: then nobody is asked.
 */
export async function startSoleDaemon(
  options: DaemonOptions,
  mayRemoveService: () => Promise<boolean>,
): Promise<Daemon> {
  const looked = { isDone: false };
  return takeOver(
    async () => startDaemon(options),
    async () => {
      if (!looked.isDone && (await systemdListens(options.paths, options.env))) {
        refuseForeignUnit('keyturn.socket', options.env);
        if (!(await mayRemoveService())) throw heldBySystemd();
        // Stops the broker behind it too.
        await removeService(options.env);
      } else await askToStop(options);
      looked.isDone = true;
    },
  );
}

function heldBySystemd(): KeyturnError {
  return new KeyturnError('conflict', 'systemd holds the socket of this home.', {
    hint: 'Run `keyturn service remove`, then start the app again.',
  });
}

async function askToStop({ paths, env }: DaemonOptions): Promise<void> {
  try {
    const connection = await connectAsOwner({ paths, env });
    const signal = AbortSignal.timeout(timeouts.stop);
    await connection.request('daemon.stop', {}, { signal }).finally(() => connection.close());
  } catch {
    // Starting or stopping at this moment: the next look at the lock tells.
  }
}
