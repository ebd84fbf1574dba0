/**
 * Which processes hold a socket, by its inode (Linux): the kernel tells a program's user of a TCP connection, and not
 * the program.
 *
 * Invariant: a process whose open files can't be read is not found. No answer is ever a guess.
 */
import { readdirSync, readlinkSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { imageOf } from './program.ts';
import { peerOfProcess } from './peer.ts';
import { startOf } from './proc.ts';

/** One process, and the file that it runs. */
export interface RunningProcess {
  readonly pid: number;
  readonly startTicks: string;
  /** Device and inode of the file (`imageOf`). */
  readonly image: string;
}

/** Processes looked at before others get their turn: a desktop has hundreds, with a hundred open files each. */
const atOnce = 20;

/**
 * The process that holds the socket. Undefined where none is found, or where processes with different files hold it:
 * then nobody can say which of them speaks.
 */
export async function holderOf(inode: string): Promise<RunningProcess | undefined> {
  const holders: RunningProcess[] = [];
  for (const [index, pid] of pids().entries()) {
    if (index % atOnce === atOnce - 1) await nextTurn();
    if (!holds(pid, inode)) continue;
    const found = runningProcess(pid);
    if (!found) return undefined;
    holders.push(found);
  }
  const [first, ...others] = holders;
  return others.every(({ image }) => image === first?.image) ? first : undefined;
}

/** Undefined once it has ended, or where the kernel doesn't say which file it runs. */
function runningProcess(pid: number): RunningProcess | undefined {
  const startTicks = startOf(pid);
  const image = startTicks === undefined ? undefined : imageOf(peerOfProcess({ pid, startTicks }));
  return startTicks === undefined || image === undefined ? undefined : { pid, startTicks, image };
}

/** Whether that process still runs, and still the same file. */
export function isStillRunning(seen: RunningProcess): boolean {
  return imageOf(peerOfProcess(seen)) === seen.image;
}

function pids(): number[] {
  return list('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function holds(pid: number, inode: string): boolean {
  const folder = `/proc/${pid}/fd`;
  return list(folder).some((name) => linkOf(`${folder}/${name}`) === `socket:[${inode}]`);
}

/** Empty for another user's process, and for one that has ended. */
function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOf(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch {
    return undefined;
  }
}
