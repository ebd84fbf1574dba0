/**
 * Starts the daemon in this process, after ending a headless one that has the home.
 *
 * Invariant: the other broker is asked, never killed: it finishes its rotations first, and the kernel's
 * lock says when it is done. Two brokers never run for one home.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { connectAsOwner } from '../../src/client/connect.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import type { Daemon, DaemonOptions } from '../../src/daemon/daemon.ts';
import { reasonOf } from '../../src/base/errors.ts';

/** Milliseconds: a refresh under way in the other broker has this long. */
const timeout = 30_000;

/** Milliseconds between two looks at the lock: nothing tells when it is free. */
const pollInterval = 50;

/** Throws what `startDaemon` throws; `broker_running` where the other one stays. */
export async function startSoleDaemon(options: DaemonOptions): Promise<Daemon> {
  for (const deadline = Date.now() + timeout; ; await sleep(pollInterval)) {
    try {
      return await startDaemon(options);
    } catch (error) {
      if (reasonOf(error) !== 'broker_running' || Date.now() > deadline) throw error;
    }
    // Asked again each time: a command may have started another one in between.
    await askToStop(options);
  }
}

async function askToStop({ paths, env }: DaemonOptions): Promise<void> {
  try {
    const connection = await connectAsOwner({ paths, env });
    const signal = AbortSignal.timeout(timeout);
    await connection.request('daemon.stop', {}, { signal }).finally(() => connection.close());
  } catch {
    // Starting or stopping at this moment: the next look at the lock tells.
  }
}
