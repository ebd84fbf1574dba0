/**
 * What Linux says of a process under /proc, read in bounded pieces.
 *
 * Invariant: a fact that can't be read is absent: the process may have ended, or may belong to somebody else, or
 * may forbid it. A process writes some of these texts itself, so they are bounded and prove nothing.
 */
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, statSync } from 'node:fs';

/** Bytes. Two pages: longer than any path or cgroup, and most command lines. */
const maxBytes = 8192;

/** The beginning of one of the kernel's own files about a process, e.g. `stat`. */
export function procText(pid: number | string, name: string): string | undefined {
  return beginningOf(`/proc/${pid}/${name}`);
}

/** The beginning of a regular file. What another program can put there is neither waited for nor followed. */
export function beginningOf(file: string): string | undefined {
  return orUndefined(() => {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!fstatSync(descriptor).isFile()) return undefined;
      const bytes = Buffer.alloc(maxBytes);
      return bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, maxBytes, 0));
    } finally {
      closeSync(descriptor);
    }
  });
}

/** Where one of a process's links leads, e.g. `exe`. */
export function procLink(pid: number, name: string): string | undefined {
  return orUndefined(() => readlinkSync(`/proc/${pid}/${name}`));
}

/** Device and inode, which name one file however it is called. */
export function identityOf(file: string): string | undefined {
  return orUndefined(() => {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev}:${ino}`;
  });
}

/** The fields of /proc/PID/stat from the process's state on: its parent's pid is at 1, its beginning at 19. */
export function statFields(pid: number | string): string[] | undefined {
  const stat = procText(pid, 'stat');
  // The name in parentheses may hold anything, so the fields are counted from the last parenthesis.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** When a process began, in the kernel's ticks since boot. */
export function startOf(pid: number): string | undefined {
  return statFields(pid)?.[19];
}

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
