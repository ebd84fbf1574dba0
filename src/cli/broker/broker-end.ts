/**
 * Waiting for one of our processes that has to end, such as a broker.
 *
 * Invariant: only the kernel tells which process has a home. The pid that a broker names may be another process here: it
 * counts in its own container.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../../base/errors.ts';
import { systemCode } from '../../base/system-error.ts';
import { pollInterval, timeouts } from '../../client/takeover.ts';
import { lockHolder } from '../../daemon/home/lock-holder.ts';

/**
 * Called while the broker of this home runs; the result waits for its end: false when it takes too long. Where the
 * kernel shows no process (in another container), the end is that of the home's lock.
 */
export function watchBroker(state: string): () => Promise<boolean> {
  const pid = lockHolder(state);
  return () => ended(() => (pid === undefined ? isFree(state) : !isAlive(pid)));
}

/** True if no broker holds the lock of this home. */
export async function isFree(state: string): Promise<boolean> {
  if (!existsSync(path.join(state, 'broker.lock'))) return true;
  try {
    const { takeLock } = await import('../../daemon/home/single-instance.ts');
    (await takeLock(state))();
    return true;
  } catch (error) {
    if (reasonOf(error) !== 'broker_running') throw error;
    return false;
  }
}

/** Resolves when the process has ended: true; false when it takes too long. */
export async function brokerEnded(pid: number): Promise<boolean> {
  return ended(() => !isAlive(pid));
}

async function ended(isOver: () => boolean | Promise<boolean>): Promise<boolean> {
  const end = performance.now() + timeouts.stop;
  while (!(await isOver())) {
    if (performance.now() >= end) return false;
    await sleep(pollInterval);
  }
  return true;
}

export function isAlive(pid: number): boolean {
  try {
    // A zombie has ended, but its parent hasn't collected it: in a container without an init it never may.
    const isZombie = (): boolean => /^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return process.kill(pid, 0) && !(process.platform === 'linux' && isZombie());
  } catch (error) {
    // Another user's process is alive, though no signal may be sent to it.
    return systemCode(error) === 'EPERM';
  }
}
