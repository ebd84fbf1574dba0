/**
 * The process that holds a home's lock: the broker, though it can't prove itself.
 *
 * Invariant: only what the kernel reports is used. A pid that is in a file could be anybody's, and a signal to it
 * would end another program.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { quoted } from '../../base/errors.ts';

/** Undefined if none holds it, or where the system doesn't tell (anywhere but on Linux). */
export function lockHolder(stateFolder: string, locks?: string): number | undefined {
  // A broker locks both (single-instance.ts); numbers of inodes repeat on other disks.
  const [file = [], folder = []] = holdersOf(stateFolder, locks);
  return file.find((pid) => folder.includes(pid));
}

/** Keeps a broker from starting: the broker, or a program that locked one of the two. */
export function anyHolder(stateFolder: string): number | undefined {
  return holdersOf(stateFolder).flat()[0];
}

/** A process as a user knows it: what it was started as, and its pid. Its arguments may hold secrets. */
export function holderName(pid: number): string {
  let name = '';
  try {
    [name = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0', 1);
  } catch {
    // It ended.
  }
  return `${name === '' ? '' : `${quoted(path.basename(name))}, `}process ${pid}`;
}

/** Of the file and of the folder. Empty if the system doesn't tell. */
function holdersOf(stateFolder: string, locks = '/proc/locks'): number[][] {
  try {
    const listed = readFileSync(locks, 'utf8');
    return [path.join(stateFolder, 'broker.lock'), stateFolder].map((locked) =>
      holders(listed, statSync(locked).ino).filter((pid) => pid !== process.pid),
    );
  } catch {
    return [];
  }
}

/** Pids of those that hold a lock (flock) on this inode. One in another namespace has none. */
function holders(listed: string, inode: number): number[] {
  return [...listed.matchAll(/^\d+: FLOCK +\S+ +\S+ +(\d+) +\S+:(\d+) /gm)]
    .filter(([, , locked]) => Number(locked) === inode)
    .map(([, pid]) => Number(pid))
    .filter((pid) => pid > 0);
}
