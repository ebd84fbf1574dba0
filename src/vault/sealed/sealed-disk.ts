/**
 * A sealed file on the disk: whose it is, how it is replaced, and what is kept beside it.
 *
 * Invariants: a file or folder that others can read or write is refused, never mended silently. A file
 * appears whole or not at all, and a replacement counts only once it would survive a power cut. No
 * message holds a byte of the file.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { unreadable } from './sealed-header.ts';
import { VaultError } from '../base/trouble.ts';

/** Bytes. Ten thousand grants take 30 MB; far more isn't ours, and would be read into memory whole. */
const maxFileLength = 1024 * 1024 * 1024;

/** What `keepAside` ends a name with. */
const tornSuffix = /^[0-9a-f]{8}$/;

/** Opens the file for reading and writing; undefined where it is certainly absent. Throws `vault_unreadable`. */
export async function openSealed(file: string): Promise<FileHandle | undefined> {
  await checkFolder(file);
  let handle: FileHandle;
  try {
    handle = await open(file, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw unreadable(quoted(file), `it can't be opened (${codeOf(error)})`, 'check what it is, and whose');
  }
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > maxFileLength)
      throw unreadable(quoted(file), 'it is no plain file of a fitting size');
    checkMine(found, file, '600');
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function checkFolder(file: string): Promise<void> {
  const folder = path.dirname(file);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found = await lstat(folder);
    if (!found.isDirectory()) throw unreadable(quoted(file), 'its folder is none, or a symbolic link');
    checkMine(found, folder, '700');
  } catch (error) {
    throw error instanceof KeyturnError ? error : failed(file, error);
  }
}

function checkMine(found: Stats, where: string, mode: '600' | '700'): void {
  const uid = process.getuid?.();
  // Windows has no such modes; a folder in the user's profile is the user's there.
  if (uid === undefined || (found.uid === uid && (found.mode & 0o077) === 0)) return;
  const asShell = where.replaceAll("'", String.raw`'\''`);
  throw new VaultError('damaged', `${quoted(where)} is open to others: the vault is not opened`, {
    rule: 'vault: a sealed file is yours alone (0600, in a folder 0700)',
    hint:
      found.uid === uid
        ? `if nobody else changed it: chmod ${mode} '${asShell}'`
        : 'it belongs to somebody else: move it away, or correct its owner',
  });
}

/** A file that is being written to take the place of `file`, and takes it all at once. */
export interface Draft {
  readonly handle: FileHandle;
  /** Puts it in place. Durable only once `syncFolder` has passed too. Throws `vault_unavailable`. */
  publish(): Promise<void>;
  discard(): Promise<void>;
}

/** Throws `vault_unavailable`. What a crash left of an earlier draft is removed: it never counted. */
export async function newDraft(file: string): Promise<Draft> {
  const temporary = `${file}.new`;
  try {
    await rm(temporary, { force: true });
    const handle = await open(temporary, 'wx+', 0o600);
    return {
      handle,
      async publish() {
        try {
          await handle.sync();
          await rename(temporary, file);
        } catch (error) {
          throw failed(file, error);
        }
      },
      async discard() {
        await handle.close();
        await rm(temporary, { force: true });
      },
    };
  } catch (error) {
    throw failed(file, error);
  }
}

/**
 * Removes the file, its draft, and the torn tails that were kept beside it. Throws `vault_unavailable`.
 * What the bytes held is as unreadable as it was: each was sealed.
 */
export async function removeSealed(file: string): Promise<void> {
  const { dir, base } = path.parse(file);
  const ours = (name: string): boolean =>
    name === base ||
    name === `${base}.new` ||
    (name.startsWith(`${base}.torn-`) && tornSuffix.test(name.slice(`${base}.torn-`.length)));
  try {
    for (const name of (await readdir(dir)).filter(ours)) await rm(path.join(dir, name), { force: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw failed(file, error);
  }
  await syncFolder(file);
}

/** Makes a rename or a new file in the file's folder survive a power cut. Throws `vault_unavailable`. */
export async function syncFolder(file: string): Promise<void> {
  // Windows opens no folder for this; its file systems journal the rename.
  if (process.platform === 'win32') return;
  try {
    const folder = await open(path.dirname(file), 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw failed(file, error);
  }
}

/** Keeps a torn tail in a file of its own, durably. Resolves to that file's path. Throws `vault_unavailable`. */
export async function keepAside(file: string, tail: Buffer): Promise<string> {
  const aside = `${file}.torn-${randomBytes(4).toString('hex')}`;
  try {
    const handle = await open(aside, 'wx', 0o600);
    try {
      await writeAll(handle, tail, 0);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw failed(file, error);
  }
  await syncFolder(file);
  return aside;
}

/** Writes all of `bytes`; one call to the system may take less. */
export async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** `length` bytes, or fewer where the file ends. */
export async function readAll(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(bytes, done, length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
}

/** The disk did not do as asked. The system's own error holds paths and a code, none of the file's bytes. */
export function failed(file: string, error: unknown): VaultError {
  return new VaultError('full', `${quoted(file)} can't be written (${codeOf(error)})`, {
    hint: 'check that the disk is not full and the folder can be written; what the vault holds is unchanged',
    cause: error,
  });
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}
