/**
 * The process that holds a home's lock: the broker, though it can't prove itself.
 *
 * Invariant: only what the kernel reports counts. A pid that stands in a file could be anybody's, and a signal to it
 * would end another program.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** Undefined where none holds it, or where the system doesn't tell (anywhere but on Linux). */
export function lockHolder(stateFolder: string, locks = '/proc/locks'): number | undefined {
  try {
    const listed = readFileSync(locks, 'utf8');
    // A broker locks both (daemon/home/single-instance.ts); numbers of inodes repeat on other disks.
    const [file = [], folder = []] = [path.join(stateFolder, 'daemon.lock'), stateFolder].map((locked) =>
      holders(listed, statSync(locked).ino),
    );
    return file.find((pid) => folder.includes(pid) && pid !== process.pid);
  } catch {
    return undefined;
  }
}

/** Pids of those that hold a lock (flock) on this inode. One in another namespace has none. */
function holders(listed: string, inode: number): number[] {
  return [...listed.matchAll(/^\d+: FLOCK +\S+ +\S+ +(\d+) +\S+:(\d+) /gm)]
    .filter(([, , locked]) => Number(locked) === inode)
    .map(([, pid]) => Number(pid))
    .filter((pid) => pid > 0);
}
