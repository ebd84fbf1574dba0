/**
 * The head of a sealed file whose key lies in the keychain: which record is its newest, kept in the keychain
 * beside the key, so that an older copy of the file is noticed.
 *
 *   a record is written     the file first, then the head, then the answer; writers that come together share
 *                           one write of the head
 *   the file is rewritten   the head names the new file's newest record beside the old one's before the new
 *                           file takes the old one's place, and only the new one afterwards
 *
 * Invariants: a file counts where it holds a record that the head names, so one that is ahead of its head
 * counts, which is all that a crash leaves. Of two files that follow the same record only the one whose
 * record the head names counts. A probe changes nothing, and the head passes over it.
 */
import { z } from 'zod';
import { mutex } from '../../base/mutex.ts';
import { unreadable } from './sealed-header.ts';
import { VaultError } from '../base/trouble.ts';
import type { Vault } from '../base/vault.ts';

/** The keychain's item. */
export const headItem = 'sealed-file-head';

const headSchema = z.object({
  version: z.literal(1),
  /** Base64url, as in the file's header. */
  logId: z.string(),
  /** Tags of records, base64url; the newest one's, and that of a file which is about to take this one's place. */
  tags: z.array(z.string()).min(1).max(2),
});

type Head = z.infer<typeof headSchema>;

/** What a file says of itself. */
export interface HeadOfLog {
  readonly id: Buffer;
  /** The tag of its newest record; undefined where damage hides which one that is. */
  readonly newest: string | undefined;
  /** Whether it holds the record of this tag. */
  holds(tag: string): boolean;
  /** What of it can't be read, as a sentence; undefined where everything can. */
  readonly damage: string | undefined;
}

export class SealedHead {
  readonly #vault: Vault;
  #logId = '';
  /** What the keychain is to name. */
  #newest = '';
  #replacement: string | undefined;
  readonly #exclusive = mutex();
  #next: Promise<void> | undefined;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  /** What the keychain names; undefined where it certainly names nothing. Throws what the keychain throws. */
  async read(): Promise<Head | undefined> {
    const text = await this.#vault.find(headItem);
    return text === undefined ? undefined : headIn(text);
  }

  /** Throws `vault_unreadable` where the keychain knows a file, and there is none. `name` is the file's. */
  async refuseMissing(name: string): Promise<void> {
    if (!(await this.read())) return;
    throw unreadable(name, 'it is gone, though the keychain has recorded it', waysOn);
  }

  /**
   * Throws `vault_unreadable` for an older copy or another file; else the keychain names this file's newest
   * record when it resolves. A file that no head names is of an older Keyturn, and gets one.
   */
  async check(head: Head | undefined, log: HeadOfLog, name: string): Promise<void> {
    const logId = log.id.toString('base64url');
    if (head && head.logId !== logId)
      throw unreadable(name, 'it is another file than the keychain knows', waysOn);
    // However damaged: with the damage cut out, and the next record behind it, an older copy would hold the newest record.
    if (head && !head.tags.some((tag) => log.holds(tag)))
      throw unreadable(
        name,
        `it is an older copy${log.damage === undefined ? '' : ', or damaged'}: it lacks the newest change that the keychain knows`,
        waysOn,
      );
    this.#logId = logId;
    if (log.newest === undefined) return;
    [this.#newest, this.#replacement] = [log.newest, undefined];
    if (head?.tags.length !== 1 || head.tags[0] !== log.newest) await this.#flush();
  }

  /** The file's newest record is this one: the keychain names it, or a newer one, when this resolves. */
  async advance(tag: string): Promise<void> {
    this.#newest = tag;
    await this.#flush();
  }

  /** A file with this newest record is about to take the file's place. */
  async announce(tag: string): Promise<void> {
    this.#replacement = tag;
    await this.#flush();
  }

  /** It took the place. */
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

const waysOn =
  'it was left as it is. Put the newest copy back; if that is lost, `keyturn reset --yes` begins a new home';

function headIn(text: string): Head {
  try {
    return headSchema.parse(JSON.parse(text));
  } catch {
    throw new VaultError('damaged', "the keychain's head of the sealed file has an unknown shape", {
      item: headItem,
      hint: 'a newer Keyturn may have written it: use that one, or restore the keyring from a backup',
    });
  }
}
