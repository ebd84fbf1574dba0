/**
 * Starts the daemon in this process as the only one of its home: a headless one that has the home is ended first.
 *
 * Invariant: the other broker is asked, never killed: it finishes its rotations first, and the kernel's
 * lock says when it is done. Two brokers never run for one home.
 */
import { connectAsOwner } from '../../src/client/connect.ts';
import { takeOver, timeouts } from '../../src/client/takeover.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import type { Daemon, DaemonOptions } from '../../src/daemon/daemon.ts';

/** Throws what `startDaemon` throws; `broker_running` where the other one stays. */
export async function startSoleDaemon(options: DaemonOptions): Promise<Daemon> {
  return takeOver(
    async () => startDaemon(options),
    async () => askToStop(options),
  );
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
