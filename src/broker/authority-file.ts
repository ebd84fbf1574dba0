/**
 * One file of records that confer authority: JSON with a format number and a MAC, replaced whole.
 *
 * Invariants: `items` throws until the MAC was verified, so that no path can act upon a record before;
 * `shown` is for lists. A file that can't be read, or that fails its MAC, is left untouched, confers
 * nothing and takes no change. Only a file that is certainly absent counts as empty.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { KeyturnError } from '../errors.ts';
import { readPrivate, replaceFile, unreadableFile } from '../private-file.ts';
import { firstForm, formats, jsonOf, refuseNewer, shaped } from './record-formats.ts';
import { WriteQueue } from './record-store.ts';
import type { AuthorityStore, Trouble } from './record-store.ts';

const version = formats.authority;

/** `mac`: HMAC-SHA256, base64url. */
const fileSchema = z.union([
  firstForm,
  z.object({ version: z.literal(version), items: z.array(z.unknown()), mac: z.string() }),
]);

/** What a file needs of the home that it belongs to (authority.ts). */
export interface Voucher {
  /** Resolves once every file was verified, and has its items or its trouble. Throws what the vault throws. */
  verify(): Promise<void>;
  /** The key for the MAC of this file. Asked for at each use. Throws what the vault throws. */
  key(name: string): Promise<KeyObject>;
}

/** As it was read, before anything counts. */
interface Read<Item> {
  readonly items: readonly Item[];
  /** Undefined where there is no file. */
  readonly form: { readonly stored: readonly unknown[]; readonly mac: string | undefined } | undefined;
}

export class AuthorityFile<Item> implements AuthorityStore<Item> {
  readonly path: string;
  readonly #name: string;
  readonly #schema: z.ZodType<Item>;
  readonly #voucher: Voucher;
  readonly #queue = new WriteQueue({ write: () => this.#write(), takeBack: () => this.#takeBack() });
  #read: Read<Item> | undefined;
  #verified: readonly Item[] | undefined;
  /** What the disk has of it. */
  #durable: readonly Item[] = [];
  /** The key for the write that is waiting; dropped when it begins. */
  #key: KeyObject | undefined;
  #trouble: KeyturnError | undefined;

  /** `name` stands in the MAC, so that one file can't take another's place. */
  constructor(file: string, name: string, schema: z.ZodType<Item>, voucher: Voucher) {
    this.path = file;
    this.#name = name;
    this.#schema = schema;
    this.#voucher = voucher;
  }

  get shown(): readonly Item[] {
    const known = this.#verified ?? this.#read?.items;
    if (known) return known;
    throw this.#trouble ?? unreadableFile(this.path, 'it was not loaded');
  }

  get items(): readonly Item[] {
    if (this.#verified) return this.#verified;
    throw this.#trouble ?? unreadableFile(this.path, 'it was not verified yet', 'Try again.');
  }

  get isLoaded(): boolean {
    return this.#read !== undefined;
  }

  get trouble(): Trouble | undefined {
    return this.#trouble && { file: this.path, why: this.#trouble.message };
  }

  async load(): Promise<void> {
    if (this.#read) return;
    try {
      this.#read = await this.#readFile();
      this.#trouble = undefined;
    } catch (error) {
      if (error instanceof KeyturnError) this.#trouble = error;
      throw error;
    }
  }

  /**
   * Decides once what the file counts for; a file in trouble stays so until the broker starts anew.
   * `mayAdopt`: this home has never written a MAC, so that a file without one is of an older Keyturn.
   * Throws what the vault throws, and `file_unreadable` where an adopted file can't be written.
   */
  async judge(mayAdopt: boolean): Promise<void> {
    if (this.#verified || this.#trouble) return;
    await this.load().catch(() => undefined);
    if (!this.#read) return;
    const { items, form } = this.#read;
    const key = await this.#voucher.key(this.#name);
    if (form && form.mac === undefined && mayAdopt) await this.#store(items, key);
    else if (form && !this.#isGenuine(form.stored, form.mac, key)) {
      this.#trouble = notGenuine(this.path, form.mac === undefined);
      return;
    }
    this.#durable = items;
    this.#verified = items;
  }

  async verify(): Promise<void> {
    await this.#voucher.verify();
  }

  async change(edit: (items: readonly Item[]) => readonly Item[]): Promise<void> {
    await this.#voucher.verify();
    if (!this.#verified) throw this.#trouble ?? unreadableFile(this.path, 'it was not verified');
    // Before memory changes: what could not be kept must not count for a moment.
    const key = await this.#voucher.key(this.#name);
    this.#verified = edit(this.#verified);
    this.#key = key;
    await this.#queue.written();
  }

  async #write(): Promise<void> {
    const [items, key] = [this.items, this.#key];
    this.#key = undefined;
    if (!key) throw new Error('nothing has changed');
    await this.#store(items, key);
    this.#durable = items;
  }

  #takeBack(): void {
    this.#verified = this.#durable;
    this.#key = undefined;
  }

  async #store(items: readonly Item[], key: KeyObject): Promise<void> {
    const mac = this.#mac(items, key).toString('base64url');
    await replaceFile(this.path, `${JSON.stringify({ version, items, mac }, undefined, 1)}\n`);
  }

  #isGenuine(stored: readonly unknown[], mac: string | undefined, key: KeyObject): boolean {
    if (mac === undefined) return false;
    const [expected, found] = [this.#mac(stored, key), Buffer.from(mac, 'base64url')];
    return expected.length === found.length && timingSafeEqual(expected, found);
  }

  /** Over the items as they are stored: fields that this version doesn't know are covered too. */
  #mac(items: readonly unknown[], key: KeyObject): Buffer {
    const covered = `${version}\n${this.#name}\n${JSON.stringify(items)}`;
    return createHmac('sha256', key).update(covered).digest();
  }

  async #readFile(): Promise<Read<Item>> {
    const bytes = await readPrivate(this.path);
    if (!bytes) return { items: [], form: undefined };
    const json = jsonOf(this.path, bytes.toString('utf8'));
    refuseNewer(this.path, json, version);
    const file = shaped(this.path, fileSchema, json);
    const items = shaped(this.path, z.object({ items: z.array(this.#schema) }), { items: file.items });
    return { ...items, form: { stored: file.items, mac: 'mac' in file ? file.mac : undefined } };
  }
}

function notGenuine(file: string, isUnmarked: boolean): KeyturnError {
  const what = isUnmarked
    ? 'it carries no proof that this Keyturn wrote it, which every file of this home does'
    : 'it is not as this Keyturn wrote it (its MAC is wrong)';
  return unreadableFile(
    file,
    what,
    'Something changed it, and it confers nothing now. Keyturn left it as it is. Restore it from a backup, or move it away and decide anew; then start the broker again.',
  );
}
