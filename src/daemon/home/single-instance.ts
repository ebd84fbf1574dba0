/**
 * One broker a home.
 *
 * Invariant: the lock is the kernel's (flock), held by open descriptors: it ends with the process,
 * however that dies, and a reused pid can't be taken for its holder. The folder is locked besides the file, so
 * that a second broker can't start where somebody removed broker.lock. Windows has no flock: there the lock is
 * the open file itself, which the system opens for nobody else, and removes for nobody, until it is closed.
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { constants as osConstants } from 'node:os';
import path from 'node:path';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { checkPrivate } from '../../base/private/private-check.ts';
import { unwritableFile } from '../../base/private/private-file.ts';
import { systemCode } from '../../base/system-error.ts';
import { anyHolder, holderName } from './lock-holder.ts';

/** <sys/file.h>: the same on Linux and macOS. */
const LOCK_EX = 2;
const LOCK_NB = 4;

const osErrors: Readonly<Record<string, number>> = osConstants.errno;

/** Takes the home's lock; the function it returns gives it back. Throws `broker_running`. */
export async function takeLock(stateFolder: string, platform = process.platform): Promise<() => void> {
  if (platform === 'win32') {
    const release = openAlone(path.join(stateFolder, 'broker.lock'));
    if (!release) throw alreadyRuns(stateFolder);
    return release;
  }
  const lock = await loadFlock();
  const opened: number[] = [];
  const release = (): void => {
    for (const descriptor of opened) closeSync(descriptor);
  };
  for (const [name, flags] of [
    [path.join(stateFolder, 'broker.lock'), 'a'],
    [stateFolder, constants.O_RDONLY],
  ] as const) {
    try {
      const descriptor = openSync(name, flags, 0o600);
      opened.push(descriptor);
      if (lock(descriptor, name)) continue;
    } catch (error) {
      release();
      throw unwritableFile(name, error);
    }
    release();
    throw alreadyRuns(stateFolder);
  }
  return release;
}

function alreadyRuns(stateFolder: string): KeyturnError {
  const holder = anyHolder(stateFolder);
  const who = holder === undefined ? '' : `: ${holderName(holder)}`;
  const more = holder === undefined ? [] : [`If it does not end, or is not Keyturn: kill ${holder}`];
  return new KeyturnError('broker_running', `A broker already runs for this home (${stateFolder})${who}.`, {
    hint: ['Use it, or end it with: keyturn broker stop.', ...more].join(' '),
  });
}

/** libuv's UV_FS_O_EXLOCK, which Node doesn't name: on Windows, nobody else may open the file (dwShareMode 0). */
const UV_FS_O_EXLOCK = 0x10000000;

/** Undefined: another process has the file open. */
function openAlone(file: string): (() => void) | undefined {
  try {
    const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT | UV_FS_O_EXLOCK);
    return () => closeSync(descriptor);
  } catch (error) {
    if (systemCode(error) === 'EBUSY') return undefined;
    throw error;
  }
}

/**
 * Takes the lock of one file, which is made where it is missing. Undefined: another process holds it. Throws
 * `file_unreadable` if something else is in the file's place.
 */
export async function tryLock(file: string, platform = process.platform): Promise<(() => void) | undefined> {
  if (platform === 'win32') return openAlone(file);
  const lock = await loadFlock();
  const descriptor = openLock(file);
  try {
    checkPrivate(fstatSync(descriptor, { bigint: true }), file, 'file');
    if (lock(descriptor, file)) return () => closeSync(descriptor);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  closeSync(descriptor);
  return undefined;
}

/** A link in its place must not lead elsewhere, and a pipe must not hold us. */
function openLock(file: string): number {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return openSync(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    throw new KeyturnError(
      'file_unreadable',
      `The lock ${quoted(file)} can't be opened (${systemCode(error)}).`,
      {
        rule: 'a file of the home is yours alone (0600), and no symbolic link',
        hint: 'It holds nothing: look at what it is, and move it away.',
      },
    );
  }
}

/** Answers at once: false if another process holds the lock. Throws `file_unreadable` if the file system has none. */
async function loadFlock(): Promise<(descriptor: number, file: string) => boolean> {
  const { default: koffi } = await import('koffi');
  // `null`: the symbols of this process, so that every libc serves.
  const flock = koffi.load(null).func('int flock(int fd, int operation)');
  return (descriptor, file) => {
    if (flock(descriptor, LOCK_EX | LOCK_NB) === 0) return true;
    const number = koffi.errno();
    if (number === osErrors['EAGAIN']) return false;
    throw noLock(file, number);
  };
}

/** Some network and FUSE file systems refuse every lock: that is no broker. */
function noLock(file: string, number: number): KeyturnError {
  const code = Object.entries(osErrors).find(([, value]) => value === number)?.[0] ?? String(number);
  return new KeyturnError('file_unreadable', `The file system refuses a lock on ${quoted(file)} (${code}).`, {
    rule: 'One broker a home: the lock of the kernel sees to that',
    hint: 'Set KEYTURN_HOME (or XDG_STATE_HOME) to a folder on a local disk.',
  });
}
