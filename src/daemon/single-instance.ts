/**
 * One broker a home.
 *
 * Invariant: the lock is the kernel's (flock), held by an open descriptor: it ends with the process,
 * however that dies, and a reused pid can't be taken for its holder. On Windows the named pipe itself
 * can be created only once, which does the same.
 */
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { KeyturnError } from '../errors.ts';

/** <sys/file.h>: the same on Linux and macOS. */
const LOCK_EX = 2;
const LOCK_NB = 4;

/** Takes the home's lock; the function it returns gives it back. Throws `broker_running`. */
export async function takeLock(stateFolder: string, platform = process.platform): Promise<() => void> {
  if (platform === 'win32') return () => undefined;
  const { default: koffi } = await import('koffi');
  // `null`: the symbols of this process, so that every libc serves.
  const flock = koffi.load(null).func('int flock(int fd, int operation)');
  const file = path.join(stateFolder, 'daemon.lock');
  const descriptor = openSync(file, 'a', 0o600);
  if (flock(descriptor, LOCK_EX | LOCK_NB) !== 0) {
    closeSync(descriptor);
    throw new KeyturnError('broker_running', `A broker already runs for this home (${stateFolder}).`, {
      hint: 'Use it, or end it with: keyturn daemon --stop',
    });
  }
  return () => closeSync(descriptor);
}
