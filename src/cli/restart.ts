/**
 * Stops the broker that runs, and starts another in the background.
 *
 * Invariant: the next one is started only when the process of the last is gone, and with it the
 * home's lock; what that owed is in the vault by then.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBroker } from './auto-start.ts';
import { connectIfRunning } from './connection.ts';

/** Milliseconds to wait for a stopping broker: a refresh under way has this long. */
const stopPatience = 30_000;
const lookEvery = 25;

/** False where none ran. Of any version: nothing is needed of the answer but that it came. */
export async function stopBroker(): Promise<boolean> {
  const connection = await connectIfRunning();
  if (!connection) return false;
  try {
    const pid = pidIn(await connection.request('daemon.stop'));
    const isThere = (): boolean => (pid === undefined ? connection.isOpen : isAlive(pid));
    for (let waited = 0; isThere() && waited < stopPatience; waited += lookEvery) await sleep(lookEvery);
  } finally {
    connection.close();
  }
  return true;
}

/** Version 0.1 answered nothing. */
function pidIn(answer: unknown): number | undefined {
  const pid: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'pid') : undefined;
  return typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
}

export async function restartBroker(): Promise<void> {
  await stopBroker();
  const connection = await startBroker();
  connection.close();
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !isZombie(pid);
  } catch {
    return false;
  }
}

/** Ended, but its parent hasn't collected it: in a container without an init nobody ever may. */
function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false;
  return /^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}
