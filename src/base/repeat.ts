/** Periodic work on the broker's clock. */
import type { Clock } from './clock.ts';

/** Calls `work` once a `period` (milliseconds) until `signal` aborts; the next period begins when the work is done. */
export async function repeatEvery(
  clock: Clock,
  period: number,
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(period, signal).catch(() => undefined);
    if (!signal.aborted) await work();
  }
}
