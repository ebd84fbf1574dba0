/**
 * Items as files, for machines without a keychain and for hundreds of sign-ins: one file for each item in the folder
 * `items`, named as the item. The vault seals what is in them (`sealed-item.ts`).
 *
 * Invariants: each file is replaced whole, so after a kill or a power cut it has its old content or its new one. A
 * damaged file makes one item unreadable, and is left as it is. A file or folder that other users can read or write is
 * refused; its mode is never changed.
 */
import { constants } from 'node:fs';
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { checkPrivate } from '../../base/private/private-check.ts';
import { draftedFile, openPrivate, replaceFile, syncFolder } from '../../base/private/private-file.ts';
import { systemCode } from '../../base/system-error.ts';
import type { Items } from '../base/item-store.ts';
import { VaultError } from '../base/trouble.ts';
import { maxValueLength } from '../base/vault.ts';

/** Bytes: the longest value, sealed. A longer file isn't ours. */
const maxFileLength = Math.ceil((maxValueLength * 4) / 3) + 100;

export class ItemFolder implements Items {
  readonly #folder: string;
  #checked: Promise<void> | undefined;

  /** `folder`: absolute path. It must have mode 0700, and is created if it is missing. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async get(name: string): Promise<string | undefined> {
    const file = this.fileOf(name);
    try {
      const handle = await openPrivate(file, constants.O_RDONLY);
      if (!handle) return undefined;
      try {
        if ((await handle.stat()).size > maxFileLength) throw unreadable(file, 'it is too large', name);
        return await handle.readFile('utf8');
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (error instanceof KeyturnError) throw notPrivate(error, name);
      throw unreadable(file, `it could not be read (${systemCode(error)})`, name);
    }
  }

  async set(name: string, value: string): Promise<string | undefined> {
    await this.write(name, value);
    return this.get(name);
  }

  protected async write(name: string, value: string): Promise<void> {
    const file = this.fileOf(name);
    await this.#prepare();
    await replaceFile(file, value).catch((error: unknown) => {
      throw unwritable(file, error);
    });
  }

  /** The home's lock keeps a second broker away. */
  async replace(name: string, before: string | undefined, value: string): Promise<string | undefined> {
    const shown = await this.get(name);
    return shown === before ? this.set(name, value) : shown;
  }

  async delete(name: string): Promise<undefined> {
    const file = this.fileOf(name);
    try {
      await rm(file, { force: true });
      await syncFolder(this.#folder);
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw unwritable(file, error);
    }
  }

  /** True if there is the file of an item. A draft is none: a kill can leave it. */
  async hasItems(): Promise<boolean> {
    try {
      return (await readdir(this.#folder)).some((name) => draftedFile(name) === undefined);
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return false;
      throw unreadable(this.#folder, `it could not be read (${systemCode(error)})`);
    }
  }

  /** Removes the folder. The bytes are not overwritten, since they are encrypted. */
  async destroy(): Promise<void> {
    try {
      await rm(this.#folder, { recursive: true, force: true });
      await syncFolder(path.dirname(this.#folder));
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw unwritable(this.#folder, error);
    }
  }

  fileOf(name: string): string {
    return path.join(this.#folder, name);
  }

  async #prepare(): Promise<void> {
    this.#checked ??= this.#check();
    await this.#checked.catch((error: unknown) => {
      this.#checked = undefined;
      throw error;
    });
  }

  async #check(): Promise<void> {
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      checkPrivate(await lstat(this.#folder, { bigint: true }), this.#folder, 'stateFolder');
    } catch (error) {
      throw error instanceof KeyturnError ? notPrivate(error) : unwritable(this.#folder, error);
    }
  }
}

/** The error of a file of the vault that can't be used; of one item, if `item` names one. */
export function unreadable(file: string, what: string, item?: string): VaultError {
  return new VaultError('damaged', `${quoted(file)} can't be read: ${what}`, {
    rule: 'vault: what is there and not readable is reported and kept, never treated as empty',
    hint: 'Nothing was changed. Restore it from a backup, or sign in again.',
    item,
  });
}

/** A file that fails the check of private files is unreadable for the vault's callers. */
function notPrivate(error: KeyturnError, item?: string): VaultError {
  if (error instanceof VaultError) return error;
  const { message, rule = 'vault: its files are yours alone (0600, in a folder 0700)', hint } = error;
  return new VaultError('damaged', message, { rule, hint, item });
}

function unwritable(file: string, error: unknown): VaultError {
  const code = systemCode(error instanceof KeyturnError ? error.cause : error);
  return new VaultError('full', `${quoted(file)} can't be written (${code})`, {
    hint: 'Check that the disk is not full and the folder can be written. What the vault holds is unchanged.',
    cause: error,
  });
}
