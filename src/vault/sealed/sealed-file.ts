/**
 * A vault in one file, for machines without a keychain and for thousands of grants: an append-only log of encrypted
 * records (sealed-log.ts). A passphrase or one keychain item decrypts the log's key.
 *
 * Invariants: while the vault is locked it holds no key, and every call for an item is refused. No plaintext is kept
 * between calls: each read decrypts its record from the disk. A wrong passphrase changes nothing.
 *
 * An older copy of the file, or a file that was cut off after a whole record, is valid in itself: nothing in it shows
 * that there was a newer one. If the key is in the keychain, the keychain also names the newest record
 * (sealed-head.ts), and such a file is refused, like a missing one. With a passphrase an older copy can't be
 * detected. So if our own records name an item, callers use `read`, which never answers "absent".
 *
 * The home's lock keeps a second broker away, not this file. If another program changes the file, the vault notices
 * that before its next call and writes nothing more.
 */
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { writeAll } from '../../base/append-only.ts';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { openSealed, readAll, removeSealed, troubleOf } from './sealed-disk.ts';
import { headItem, SealedHead } from './sealed-head.ts';
import { decodeHeader, encodeHeader, unreadable } from './sealed-header.ts';
import { keychainItem, newLogKey, openLogKey } from './sealed-key.ts';
import type { KeySource } from './sealed-key.ts';
import { SealedLog } from './sealed-log.ts';
import { newSegment } from './sealed-record.ts';
import { VaultError } from '../base/trouble.ts';
import { mutex } from '../../base/mutex.ts';
import { newDraft, syncFolder } from '../../base/private-file.ts';
import type { Draft } from '../../base/private-file.ts';
import { checkId, checkSecret, closedVault } from '../base/vault.ts';
import type { Lockable, Vault, VaultCondition } from '../base/vault.ts';

export type { KeySource } from './sealed-key.ts';

export interface SealedFileOptions {
  /** Absolute path. Its folder must have mode 0700, and is created if it is missing. */
  readonly file: string;
  readonly key: KeySource;
  /** Gets lines for the broker's log: a torn tail, damage, a failed compaction. No line contains a secret. */
  readonly report?: (line: string) => void;
}

export type SealedFileVault = Vault & Lockable;

type State =
  /** Before the first call, which opens the file with the key in the keychain. */
  | { readonly kind: 'resting' }
  | { readonly kind: 'locked' }
  | { readonly kind: 'open'; readonly log: SealedLog }
  | { readonly kind: 'closed' };

class SealedFile implements Vault, Lockable {
  readonly kind = 'sealed-file';
  readonly #file: string;
  readonly #source: KeySource;
  readonly #report: (line: string) => void;
  /** The log takes one call at a time. */
  readonly #exclusive = mutex();
  /** Only if the key is in the keychain. */
  readonly #head: SealedHead | undefined;
  #state: State;

  constructor({ file, key, report }: SealedFileOptions) {
    this.#file = path.resolve(file);
    this.#source = key;
    this.#report = report ?? (() => undefined);
    this.#head = key.kind === 'keychain' ? new SealedHead(key.vault) : undefined;
    this.#state = { kind: key.kind === 'keychain' ? 'resting' : 'locked' };
  }

  async find(id: string): Promise<string | undefined> {
    checkId(id);
    return this.#withLog((log) => log.find(id));
  }

  async read(id: string): Promise<string> {
    const secret = await this.find(id);
    if (secret !== undefined) return secret;
    throw new VaultError('damaged', `the sealed file doesn't hold ${quoted(id)}, which should be there`, {
      item: id,
      rule: 'vault: an item that our records name counts as unreadable, never as absent',
      hint: 'An older file may have been put in its place: restore the newest one, or sign in again.',
    });
  }

  async write(id: string, secret: string): Promise<void> {
    checkId(id);
    checkSecret(secret);
    await this.#changeLog((log) => log.put(id, secret));
  }

  async remove(id: string): Promise<void> {
    checkId(id);
    await this.#changeLog((log) => log.remove(id));
  }

  async probe(): Promise<void> {
    await this.#withLog((log) => log.probe());
  }

  async condition(): Promise<VaultCondition> {
    return this.#exclusive(async () => {
      const state = this.#state;
      if (state.kind === 'closed') return { state: 'closed' };
      if (state.kind === 'open') {
        const { damage } = state.log;
        return damage === undefined ? { state: 'open' } : { state: 'open', damage };
      }
      const handle = await openSealed(this.#file);
      await handle?.close();
      return { state: handle ? 'locked' : 'new' };
    });
  }

  async unlock(passphrase?: string): Promise<void> {
    await this.#exclusive(async () => {
      if (this.#state.kind === 'closed') throw closedVault();
      await this.#open(passphrase);
    });
  }

  async lock(): Promise<void> {
    await this.#exclusive(() => this.#leave('locked'));
  }

  async changePassphrase(current: string, next: string): Promise<void> {
    if (this.#source.kind === 'keychain')
      throw new KeyturnError(
        'invalid_request',
        "this vault's key lies in the keychain: it has no passphrase",
      );
    await this.#withLog(async () => {
      // Opening it again checks the current passphrase, and that the file on the disk is readable.
      const log = await this.#open(current);
      // A new log key too, so that the key in an older copy of the file, with the old passphrase, decrypts no newer
      // record.
      const { header, log: key } = await newLogKey(this.#source, next, log.id);
      await log.rewrite(encodeHeader(header), key);
    });
  }

  async destroy(ids: readonly string[]): Promise<void> {
    ids.forEach(checkId);
    await this.#exclusive(async () => {
      await this.#leave('closed');
      await removeSealed(this.#file);
    });
    // The key goes after the file: a crash in between leaves only a key without a file.
    if (this.#source.kind === 'keychain') await this.#source.vault.destroy([keychainItem, headItem]);
  }

  async close(): Promise<void> {
    await this.#exclusive(() => this.#leave('closed'));
    if (this.#source.kind === 'keychain') await this.#source.vault.close();
  }

  async #withLog<T>(work: (log: SealedLog) => Promise<T>): Promise<T> {
    return this.#exclusive(async () => work(await this.#log()));
  }

  /**
   * Resolves when the head names the change too. If a compaction is due, it runs later, and the caller doesn't wait
   * for it.
   */
  async #changeLog(work: (log: SealedLog) => Promise<void>): Promise<void> {
    const newest = await this.#withLog(async (log) => {
      await work(log);
      if (log.isMostlyDead) void this.#exclusive(() => this.#compact(log));
      return log.newest;
    });
    if (newest !== undefined) await this.#head?.advance(newest);
  }

  async #compact(log: SealedLog): Promise<void> {
    if (this.#state.kind !== 'open' || this.#state.log !== log) return;
    const head = this.#head;
    await log.compact(head && ((tag) => head.announce(tag)));
    // If the keychain fails, the head still names both files, and the next change writes it again.
    if (head && log.newest !== undefined) await head.replaced(log.newest).catch(() => undefined);
  }

  async #log(): Promise<SealedLog> {
    switch (this.#state.kind) {
      case 'open':
        return this.#state.log;
      case 'resting':
        return this.#open(undefined);
      case 'locked':
        throw new VaultError('locked', 'the vault is locked', { hint: 'Unlock it with: keyturn unlock' });
      case 'closed':
        throw closedVault();
    }
  }

  /** Opens the file, or creates it; only then closes the log that was open before. */
  async #open(passphrase: string | undefined): Promise<SealedLog> {
    const handle = (await openSealed(this.#file)) ?? (await this.#create(passphrase));
    const name = quoted(this.#file);
    try {
      const bytes = await readAll(handle, 0, (await handle.stat()).size);
      const { header, length } = decodeHeader(bytes, name);
      const key = await openLogKey(header, this.#source, passphrase, name);
      const head = await this.#head?.read();
      const log = await SealedLog.open({
        file: this.#file,
        handle,
        bytes,
        header: Buffer.from(bytes.subarray(0, length)),
        key,
        report: this.#report,
        sought: head?.tags ?? [],
      });
      await this.#head?.check(head, log, name);
      await this.#leave('locked');
      this.#state = { kind: 'open', log };
      return log;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async #leave(kind: 'locked' | 'closed'): Promise<void> {
    const before = this.#state;
    if (before.kind === 'closed') return;
    this.#state = { kind };
    if (before.kind === 'open') await before.log.close();
  }

  /** A new, empty file. It is complete and durable before `#open` reads it. */
  async #create(passphrase: string | undefined): Promise<FileHandle> {
    await this.#head?.refuseMissing(quoted(this.#file));
    const { header, log } = await newLogKey(this.#source, passphrase);
    let draft: Draft | undefined;
    try {
      draft = await newDraft(this.#file);
      await writeAll(draft.handle, Buffer.concat([encodeHeader(header), newSegment(log, 0, true).header]), 0);
      await draft.publish();
      await syncFolder(path.dirname(this.#file));
      // By its name: Wine tells no device of a handle whose file was renamed.
      await draft.handle.close();
      const handle = await openSealed(this.#file);
      if (!handle) throw unreadable(quoted(this.#file), 'it is no longer there');
      return handle;
    } catch (error) {
      await draft?.discard();
      throw troubleOf(this.#file, error);
    }
  }
}

/** The vault in `options.file`. It reads nothing before its first call. */
export function sealedFileVault(options: SealedFileOptions): SealedFileVault {
  return new SealedFile(options);
}
