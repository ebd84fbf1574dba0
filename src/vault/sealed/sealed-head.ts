/**
 * The head of a sealed file whose key is in the keychain. It names the newest record of the file, and is stored in the
 * keychain beside the key, so that Keyturn detects an older copy of the file.
 *
 *   a record is written     the file first, then the head, then the caller's answer; writes that wait at the same
 *                           time share one write of the head
 *   the file is rewritten   before the new file replaces the old one, the head names the newest records of both;
 *                           afterwards it names only the new file's
 *
 * Invariants: a file counts if it holds a record that the head names. So a file with newer records than the head names
 * counts too: a crash can leave one. Of two files that continue from the same record, only the one counts that has the
 * record named by the head. A probe changes no item, so the head never names one.
 */
import { z } from 'zod';
import { mutex } from '../../base/mutex.ts';
import { unreadable } from './sealed-header.ts';
import { VaultError } from '../base/trouble.ts';
import type { Vault } from '../base/vault.ts';

/** The id of the keychain's item. */
export const headItem = 'sealed-file-head';

const headSchema = z.object({
  version: z.literal(1),
  /** Base64url, as in the file's header. */
  logId: z.string(),
  /** Tags of newest records, base64url: the one of this file, and the one of a file that is about to replace it. */
  tags: z.array(z.string()).min(1).max(2),
});

type Head = z.infer<typeof headSchema>;

/** The facts about a file that `check` compares with the head. */
export interface HeadOfLog {
  readonly id: Buffer;
  /** The tag of its newest record; undefined if damage hides which one that is. */
  readonly newest: string | undefined;
  /** True if the file holds the record with this tag. */
  holds(tag: string): boolean;
  /** The unreadable part, as text for the owner; undefined if all of the file is readable. */
  readonly damage: string | undefined;
}

export class SealedHead {
  readonly #vault: Vault;
  #logId = '';
  /** The newest record of the file, which the next write of the head names. */
  #newest = '';
  #replacement: string | undefined;
  readonly #exclusive = mutex();
  #next: Promise<void> | undefined;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  /** The head in the keychain; undefined only if there certainly is none. Throws the keychain's errors. */
  async read(): Promise<Head | undefined> {
    const text = await this.#vault.find(headItem);
    return text === undefined ? undefined : headIn(text);
  }

  /** Throws `vault_unreadable` if the keychain has a head. Call it if the file is missing. `name` is the file's. */
  async refuseMissing(name: string): Promise<void> {
    if (!(await this.read())) return;
    throw unreadable(name, 'it is gone, though the keychain has recorded it', nextSteps);
  }

  /**
   * Throws `vault_unreadable` if `log` is an older copy or another file. Otherwise it resolves when the head names the
   * newest record of `log`. Without a head the file gets one: a crash came before the first write of it.
   */
  async check(head: Head | undefined, log: HeadOfLog, name: string): Promise<void> {
    const logId = log.id.toString('base64url');
    if (head && head.logId !== logId)
      throw unreadable(name, 'it is another file than the keychain knows', nextSteps);
    // A damaged file is refused too: an older copy could otherwise pass if its end was damaged on purpose.
    if (head && !head.tags.some((tag) => log.holds(tag)))
      throw unreadable(
        name,
        `it is an older copy${log.damage === undefined ? '' : ', or damaged'}: it lacks the newest change that the keychain knows`,
        nextSteps,
      );
    this.#logId = logId;
    if (log.newest === undefined) return;
    [this.#newest, this.#replacement] = [log.newest, undefined];
    if (head?.tags.length !== 1 || head.tags[0] !== log.newest) await this.#flush();
  }

  /** The file has a new record. Resolves when the keychain names this record or a newer one. */
  async advance(tag: string): Promise<void> {
    this.#newest = tag;
    await this.#flush();
  }

  /** A file with this newest record is about to replace the file. */
  async announce(tag: string): Promise<void> {
    this.#replacement = tag;
    await this.#flush();
  }

  /** The file with this newest record has replaced the old one. */
  async replaced(tag: string): Promise<void> {
    [this.#newest, this.#replacement] = [tag, undefined];
    await this.#flush();
  }

  /** All callers that come while one write runs share the next one. */
  #flush(): Promise<void> {
    this.#next ??= this.#exclusive(() => {
      this.#next = undefined;
      return this.#vault.write(headItem, this.#text());
    });
    return this.#next;
  }

  #text(): string {
    const tags = this.#replacement === undefined ? [this.#newest] : [this.#newest, this.#replacement];
    return JSON.stringify({ version: 1, logId: this.#logId, tags } satisfies Head);
  }
}

const nextSteps =
  'It was left as it is. Put the newest copy back; if that is lost, `keyturn reset --yes` begins a new home.';

function headIn(text: string): Head {
  try {
    return headSchema.parse(JSON.parse(text));
  } catch {
    throw new VaultError('damaged', "the keychain's head of the sealed file has an unknown shape", {
      item: headItem,
      hint: 'A newer Keyturn may have written it: use that one, or restore the keyring from a backup.',
    });
  }
}
