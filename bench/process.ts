/** Programs that the bench starts and looks at from outside. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import process from 'node:process';

export const fileHere = (name: string): string => path.join(import.meta.dirname, name);

/** A bare Node server on a Unix socket. */
export const floorFile = fileHere('floor.mjs');

export const bin = fileHere('../dist/cli/bin.js');

/** Starts a program that goes on; resolves with its first line. */
export async function started(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly child: ChildProcess; readonly line: string }> {
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const gone = once(child, 'close').then(() => []);
  const [line] = (await Promise.race([once(child.stdout, 'data'), gone])) as (Buffer | undefined)[];
  if (!line) throw new Error(`${path.basename(program)} ${args.join(' ')} ended before it said anything`);
  return { child, line: line.toString() };
}

/** Resolves when it is gone. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill();
  await closed;
}

/**
 * Runs `work` while this process and `pids` share the first processor (Linux): a request over a socket takes several times as
 * long if its ends are on two, and the scheduler's choice isn't what is measured.
 */
export async function pinned<T>(pids: readonly number[], work: () => Promise<T>): Promise<T> {
  const place = (processors: string): void => {
    for (const pid of process.platform === 'linux' ? [process.pid, ...pids] : [])
      execFileSync('taskset', ['-a', '-c', '-p', processors, String(pid)], { stdio: 'ignore' });
  };
  place('0');
  try {
    return await work();
  } finally {
    place(`0-${availableParallelism() - 1}`);
  }
}

/** Megabytes, by the kernel's count: all that is resident, or without what other processes share. */
export function memoryOf(pid: number | undefined, kind: 'resident' | 'private'): number {
  if (process.platform !== 'linux' || pid === undefined) return Number.NaN;
  const pattern = kind === 'resident' ? /^Rss:\s+(\d+) kB/gm : /^Private_\w+:\s+(\d+) kB/gm;
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return [...text.matchAll(pattern)].reduce((sum, [, kilobytes]) => sum + Number(kilobytes), 0) / 1024;
}
