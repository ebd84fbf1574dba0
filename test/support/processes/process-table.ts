/**
 * The processes of this machine, by what they were started with.
 *
 * Invariant: looks and waits, and ends nobody. Where there is no process table it finds none.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two looks at the process table: nothing tells when a foreign process ends. */
const lookEvery = 20;

/** Waits until no process runs that has this variable, written `NAME=value`, in its environment. */
export async function noneRunsWith(variable: string): Promise<void> {
  while (isThereOneWith(variable)) await sleep(lookEvery);
}

/** What every process was started with, its words separated by spaces. */
export function commandLines(): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => wordsOf(pid, 'cmdline').join(' '));
}

/** A process that `pid` started and that still runs. */
export function childOf(pid: number): number | undefined {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  return child ? Number(child) : undefined;
}

/** Ends `pid` and all that it started, sessions of their own included. */
export function killTree(pid: number): void {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    for (const child of children) if (child !== '') killTree(Number(child));
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

function isThereOneWith(variable: string): boolean {
  if (process.platform !== 'linux') return false;
  return readdirSync('/proc').some(
    (name) => /^\d+$/.test(name) && wordsOf(name, 'environ').includes(variable),
  );
}

/** Empty for a process that is gone, is a zombie, or is another user's. */
function wordsOf(pid: string, file: 'environ' | 'cmdline'): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
