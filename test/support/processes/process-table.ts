/** The processes of this machine, by what they were started with. Where there is no process table it finds none. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two looks at the process table: nothing tells when a foreign process ends. */
const lookEvery = 20;

/** Every process. */
export const pids = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Empty where the process is gone, or the file is closed to this user. */
function textOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

/** What anybody of the same user can read about a process; empty where there is none. */
export function processFacts(pid: number): { argv: string[]; environ: string[] } {
  const read = (name: string): string[] => textOf(pid, name).split('\0').slice(0, -1);
  return { argv: read('cmdline'), environ: read('environ') };
}

/** False for a zombie too: that is only an entry that nobody has collected. */
export const isAlive = (pid: number): boolean => /^State:\t[^Z]/m.test(textOf(pid, 'status'));

/** The processes that `pid` started and that still run. */
export const childrenOf = (pid: number): number[] =>
  textOf(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number);

/** `pid` and all that it started, sessions of their own included. */
export const treeOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(treeOf)];

/** Waits until no process runs that has this variable, written `NAME=value`, in its environment. */
export async function noneRunsWith(variable: string): Promise<void> {
  if (process.platform !== 'linux') return;
  while (pids().some((pid) => processFacts(pid).environ.includes(variable))) await sleep(lookEvery);
}

/** A process may end between a look at it and the signal. */
export function signalIfAlive(pid: number, name: NodeJS.Signals): void {
  try {
    if (isAlive(pid)) process.kill(pid, name);
  } catch (error) {
    if (isAlive(pid)) throw error;
  }
}
