/**
 * Opens and removes a sealed file, and turns the disk's errors into errors of the vault.
 *
 * Invariants: a file or folder that other users can read or write is refused; its mode is never changed. No message
 * contains a byte of the file.
 */
import { constants } from 'node:fs';
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { isTornTailOf } from '../../base/append-only.ts';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { checkPrivate, draftOf, openPrivate, syncFolder } from '../../base/private-file.ts';
import { systemCode } from '../../base/system-error.ts';
import { unreadable } from './sealed-header.ts';
import { VaultError } from '../base/trouble.ts';

/** Bytes. Ten thousand grants take 30 MB. A much larger file isn't ours, and we would read all of it into memory. */
const maxFileLength = 1024 * 1024 * 1024;

/**
 * Opens the file for reading and writing, and creates its folder if that is missing. Undefined only if the file is
 * certainly absent. Throws `vault_unreadable`, or `vault_unavailable` if the folder can't be created.
 */
export async function openSealed(file: string): Promise<FileHandle | undefined> {
  const folder = path.dirname(file);
  let handle: FileHandle | undefined;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    checkPrivate(await lstat(folder, { bigint: true }), folder, 'stateFolder');
    handle = await openPrivate(file, constants.O_RDWR);
    if (handle && (await handle.stat()).size > maxFileLength)
      throw unreadable(quoted(file), 'it is no plain file of a fitting size');
    return handle;
  } catch (error) {
    await handle?.close();
    throw troubleOf(file, error);
  }
}

/**
 * Removes the file, its draft, and the torn tails that were kept beside it. Throws `vault_unavailable`. The bytes are
 * not overwritten, since they are encrypted.
 */
export async function removeSealed(file: string): Promise<void> {
  const { dir, base } = path.parse(file);
  const ours = (name: string): boolean => name === base || name === draftOf(base) || isTornTailOf(name, base);
  try {
    for (const name of (await readdir(dir)).filter(ours)) await rm(path.join(dir, name), { force: true });
    await syncFolder(dir);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw troubleOf(file, error);
  }
}

/** `length` bytes from `position`, or fewer if the file ends before. */
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

/**
 * The vault's error for `error`. A system error counts as `full`. It is safe as the `cause`: it contains a path and a
 * code, but no bytes of the file.
 */
export function troubleOf(file: string, error: unknown): KeyturnError {
  if (error instanceof VaultError) return error;
  // A file that fails the check of private files makes the vault unreadable for its callers.
  if (error instanceof KeyturnError && error.reason === 'file_unreadable') {
    const { message, rule = 'vault: a sealed file is yours alone (0600, in a folder 0700)', hint } = error;
    return new VaultError('damaged', message, { rule, hint });
  }
  if (error instanceof KeyturnError) return error;
  return new VaultError('full', `${quoted(file)} can't be written (${systemCode(error)})`, {
    hint: 'Check that the disk is not full and the folder can be written. What the vault holds is unchanged.',
    cause: error,
  });
}
