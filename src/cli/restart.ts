/**
 * Stops the broker that runs, and starts another in the background.
 *
 * Invariant: the next one is started only when the process of the last is gone, and with it the
 * home's lock; what that owed is in the vault by then.
 */
import { startBroker } from './auto-start.ts';
import { ended, isAlive } from './broker-end.ts';
import { connectIfRunning } from './connection.ts';

/** False where none ran. Of any version: nothing is needed of the answer but that it came. */
export async function stopBroker(): Promise<boolean> {
  const connection = await connectIfRunning();
  if (!connection) return false;
  try {
    const pid = pidIn(await connection.request('daemon.stop'));
    await ended(() => (pid === undefined ? !connection.isOpen : !isAlive(pid)));
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
