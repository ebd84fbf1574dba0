/**
 * Puts processes on one processor while something is measured, with Linux' `taskset`.
 *
 * A request over a Unix socket takes 5 to 50 µs if both ends share a processor, and 50 to 80 µs if they don't, for every
 * contender: without pinning a ratio says which processor the scheduler chose.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import process from 'node:process';

export const canPin = has('taskset');

/** Runs `work` while this process and `pids` share the first processor. Elsewhere than on Linux it only runs it. */
export async function pinned<T>(pids: readonly number[], work: () => Promise<T>): Promise<T> {
  const all = [process.pid, ...pids];
  place(all, '0');
  try {
    return await work();
  } finally {
    place(all, `0-${availableParallelism() - 1}`);
  }
}

function place(pids: readonly number[], processors: string): void {
  if (!canPin) return;
  for (const pid of pids)
    execFileSync('taskset', ['-a', '-c', '-p', processors, String(pid)], { stdio: 'ignore' });
}

function has(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
