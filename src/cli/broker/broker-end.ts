/** Waiting for one of our processes that has to end, such as a broker. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemCode } from '../../base/system-error.ts';
import { pollInterval, timeouts } from '../../client/takeover.ts';

/** Resolves when the process has ended: true; false when it takes too long. */
export async function brokerEnded(pid: number): Promise<boolean> {
  return ended(() => !isAlive(pid));
}

/** As `brokerEnded`, by any sign of the end. */
export async function ended(isOver: () => boolean): Promise<boolean> {
  const end = performance.now() + timeouts.stop;
  while (!isOver() && performance.now() < end) await sleep(pollInterval);
  return isOver();
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !isZombie(pid);
  } catch (error) {
    // Another user's process is alive, though no signal may be sent to it.
    return systemCode(error) === 'EPERM';
  }
}

/** Ended, but its parent hasn't collected it: in a container without an init nobody ever may. */
function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false;
  return /^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}
