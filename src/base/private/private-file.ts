/**
 * Reads and replaces private files (private-check.ts).
 *
 * Invariants: at each moment a file holds its whole old content or its whole new content, also after a power cut. No
 * message holds content of a file.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { lstat, open, rename, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyturnError } from '../errors.ts';
import { checkPrivate } from './private-check.ts';
import { systemCode } from '../system-error.ts';

/** Checks a file without opening it. One that is absent passes. Throws `file_unreadable`. */
export async function checkFileIfAny(file: string): Promise<void> {
  const found = await lstat(file, { bigint: true }).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw unreadableFile(file, `it can't be looked at (${systemCode(error)})`);
  });
  if (found) checkPrivate(found, file, 'file');
}

/** Bytes: eight times a document of 10,000 sign-ins. A longer file isn't ours, and would hold up the start. */
const maxFileSize = 64 * 1024 * 1024;

/** The whole file; undefined only if it is certainly absent. Throws `file_unreadable`. */
export async function readPrivate(file: string): Promise<Buffer | undefined> {
  const handle = await openPrivate(file, constants.O_RDONLY);
  if (!handle) return undefined;
  try {
    if ((await handle.stat()).size > maxFileSize) throw unreadableFile(file, 'it is larger than 64 MiB');
    return await handle.readFile();
  } catch (error) {
    if (error instanceof KeyturnError) throw error;
    throw unreadableFile(file, `it could not be read (${systemCode(error)})`);
  } finally {
    await handle.close();
  }
}

/** Opens a private file; undefined if it is absent, and `flags` don't make it. Throws `file_unreadable`. */
export async function openPrivate(file: string, flags: number): Promise<FileHandle | undefined> {
  let handle: FileHandle;
  try {
    // O_NONBLOCK: a named pipe in its place must not block us.
    handle = await open(file, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT') return undefined;
    // If it is a link or a socket, this check says so, and what to do.
    await checkFileIfAny(file);
    throw unreadableFile(file, `it could not be opened (${code})`);
  }
  try {
    checkPrivate(await handle.stat({ bigint: true }), file, 'file');
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Where the new content is written first. The name is random, so that no other program can be there before. A crash may
 * leave it; in a home, the next start or `keyturn reset` removes it.
 */
function draftOf(file: string): string {
  return `${file}.${randomBytes(6).toString('hex')}.new`;
}

/** The name of the file that such a file is the draft of; undefined for another file. */
export function draftedFile(name: string): string | undefined {
  return /^(.+)\.[0-9a-f]{12}\.new$/.exec(name)?.[1];
}

/** Milliseconds for which a scanner of Windows may hold a file that is to be replaced, and between two tries. */
const heldFor = 1000;
const betweenTries = 50;

interface Replacing {
  readonly platform?: NodeJS.Platform;
  readonly move?: (from: string, to: string) => Promise<void>;
  readonly pause?: (milliseconds: number) => Promise<unknown>;
}

/** On Windows a file that another process holds for a moment can't be replaced: tries again for a second. */
export async function takePlace(
  draft: string,
  file: string,
  { platform = process.platform, move = rename, pause = sleep }: Replacing = {},
): Promise<void> {
  for (let waited = 0; ; waited += betweenTries) {
    try {
      return await move(draft, file);
    } catch (error) {
      const isHeld = platform === 'win32' && ['EPERM', 'EBUSY', 'EACCES'].includes(systemCode(error));
      if (!isHeld || waited >= heldFor) throw error;
      await pause(betweenTries);
    }
  }
}

/**
 * Replaces the file's content, or makes the file (0600). Durable when it resolves. Two calls for one file must not
 * overlap. Throws `file_unreadable`; the file is then as it was, or, if only the sync of its folder failed, new.
 */
export async function replaceFile(file: string, content: string | Uint8Array): Promise<void> {
  const draft = draftOf(file);
  try {
    await writeDraft(draft, content);
    await takePlace(draft, file);
    await syncFolder(path.dirname(file));
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw unwritableFile(file, error);
  }
}

async function writeDraft(draft: string, content: string | Uint8Array): Promise<void> {
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** `replaceFile` in one synchronous step, for small files that change rarely. */
export function replaceFileAtOnce(file: string, content: string): void {
  const draft = draftOf(file);
  try {
    synced(openSync(draft, 'wx', 0o600), (descriptor) => writeFileSync(descriptor, content));
    renameSync(draft, file);
    syncFolderAtOnce(path.dirname(file));
  } catch (error) {
    rmSync(draft, { force: true });
    throw unwritableFile(file, error);
  }
}

/**
 * Makes a file (0600), durably, that is whole once it is there, if the file system has links. False if there is one
 * already. Throws the system's error.
 */
export function makeFileAtOnce(file: string, content: string): boolean {
  const draft = draftOf(file);
  try {
    synced(openSync(draft, 'wx', 0o600), (descriptor) => writeFileSync(descriptor, content));
    place(draft, file);
    syncOrRemove(file);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A new file that may be lost is removed: else a second try would find it. */
function syncOrRemove(file: string): void {
  try {
    // A copy isn't durable yet.
    synced(openSync(file, 'r+'));
    syncFolderAtOnce(path.dirname(file));
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  }
}

/** Gives a whole file this name too. Throws `EEXIST` where there is one. */
function place(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw error;
    // Not every file system has links.
    copyFileSync(draft, file, constants.COPYFILE_EXCL);
  }
}

/** Windows can't open a folder to sync it; its file systems journal new names. */
function syncFolderAtOnce(folder: string): void {
  if (process.platform !== 'win32') synced(openSync(folder, 'r'));
}

function synced(descriptor: number, write?: (descriptor: number) => void): void {
  try {
    write?.(descriptor);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes new names in a folder durable. Throws the system's error. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows can't open a folder to sync it; its file systems journal the rename.
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The refusal for a file of the home that can't be used. The file stays as it is. */
export function unreadableFile(file: string, what: string, hint?: string): KeyturnError {
  return new KeyturnError('file_unreadable', `${file} can't be read: ${what}.`, {
    hint:
      hint ??
      'Keyturn left it as it is. Restore it from a backup, or move it away to start without it; then start the broker again.',
  });
}

/** The refusal for a write that failed. An error that is a refusal already stays as it is. */
export function unwritableFile(file: string, error: unknown): KeyturnError {
  if (error instanceof KeyturnError) return error;
  return new KeyturnError('file_unreadable', `${file} can't be written (${systemCode(error)}).`, {
    hint: 'See that its folder is yours and that the disk has room, then try again.',
    cause: error,
  });
}
