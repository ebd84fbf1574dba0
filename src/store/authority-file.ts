/**
 * One file of authority: JSON with a format number, an edition and a MAC, which each change replaces as a whole.
 *
 * Invariants: `items` throws until the MAC and the edition were verified, so that no code can act upon a record before;
 * `shown` is for lists. If a file is unreadable, fails its MAC or has an older edition than the vault, it stays
 * untouched, its records don't count, and changes are refused. An absent file counts as empty only if it is certainly
 * absent and was never narrowed. A change that narrows is complete when the vault has the new edition too
 * (authority-epochs.ts).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { KeyturnError } from '../base/errors.ts';
import { readPrivate, replaceFile, unreadableFile } from '../base/private-file.ts';
import { editionSchema, firstEdition, successorOf } from './authority-epochs.ts';
import type { Edition, Epochs } from './authority-epochs.ts';
import { narrows } from './narrowing.ts';
import type { ChangeRules } from './narrowing.ts';
import { formats, jsonOf, refuseOtherFormat, shaped } from './record-formats.ts';
import { troubleWith, WriteQueue } from './record-store.ts';
import type { AuthorityStore, FileTrouble } from './record-store.ts';

const version = formats.authority;

const fileSchema = z.object({
  version: z.literal(version),
  edition: editionSchema,
  items: z.array(z.unknown()),
  /** HMAC-SHA256, base64url. */
  mac: z.string(),
});

/** The functions of its home that a file needs (authority.ts). */
export interface MacKeySource {
  /** Resolves once every file was verified, and has its items or its trouble. Throws the vault's errors. */
  verify(): Promise<void>;
  /** The key for the MAC of this file. Called for each use. Throws the vault's errors. */
  key(name: string): Promise<KeyObject>;
  /** The vault's edition of each file; loaded before a file is verified. */
  readonly epochs: Epochs;
}

/** The content of a file. */
interface State<Item> {
  readonly items: readonly Item[];
  readonly edition: Edition;
}

interface Proof {
  readonly mac: string;
  /** The input of the MAC. */
  readonly covered: string;
}

/** The content of the file before it is verified. */
interface Read<Item> extends State<Item> {
  /** Undefined if there is no file. */
  readonly proof: Proof | undefined;
}

export interface FileParts<Item> {
  readonly file: string;
  /** Part of the MAC's input, so that one file can't replace another. */
  readonly name: string;
  readonly schema: z.ZodType<Item>;
  readonly rules: ChangeRules<Item>;
  readonly macKeys: MacKeySource;
}

export class AuthorityFile<Item> implements AuthorityStore<Item> {
  readonly path: string;
  readonly #name: string;
  readonly #schema: z.ZodType<Item>;
  readonly #rules: ChangeRules<Item>;
  readonly #macKeys: MacKeySource;
  readonly #queue = new WriteQueue({ write: () => this.#write(), takeBack: () => this.#takeBack() });
  #read: Read<Item> | undefined;
  #verified: readonly Item[] | undefined;
  /** The state on disk. */
  #durable: State<Item> = { items: [], edition: firstEdition };
  /** The key for the next write; dropped when that begins. */
  #key: KeyObject | undefined;
  /** True if the next write makes a new edition in any case. */
  #isRenewal = false;
  #trouble: KeyturnError | undefined;

  constructor({ file, name, schema, rules, macKeys }: FileParts<Item>) {
    this.path = file;
    this.#name = name;
    this.#schema = schema;
    this.#rules = rules;
    this.#macKeys = macKeys;
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

  get trouble(): FileTrouble | undefined {
    return this.#trouble && troubleWith(this.path, this.#trouble);
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
   * Decides once whether the file counts. A file in trouble stays so until the broker restarts. Throws the vault's
   * errors.
   */
  async judge(): Promise<void> {
    if (this.#verified || this.#trouble) return;
    await this.load().catch(() => undefined);
    if (!this.#read) return;
    const { items, edition } = this.#read;
    this.#trouble = this.#troubleOf(this.#read, await this.#macKeys.key(this.#name));
    if (this.#trouble) return;
    // A broker that ended between its two steps left the file one edition ahead. The change counts from now on.
    await this.#macKeys.epochs.advance(this.#name, edition);
    this.#durable = { items, edition };
    this.#verified = items;
  }

  #troubleOf({ edition, proof }: Read<Item>, key: KeyObject): KeyturnError | undefined {
    const known = this.#macKeys.epochs.of(this.#name);
    if (!proof) return known.epoch === 0 ? undefined : missing(this.path, known.epoch);
    if (!isGenuine(proof, key)) return notGenuine(this.path);
    if (this.#macKeys.epochs.accepts(this.#name, edition)) return undefined;
    return notNewest(this.path, edition.epoch, known.epoch);
  }

  async verify(): Promise<void> {
    await this.#macKeys.verify();
  }

  async change(edit: (items: readonly Item[]) => readonly Item[]): Promise<void> {
    await this.#macKeys.verify();
    if (!this.#verified) throw this.#trouble ?? unreadableFile(this.path, 'it was not verified');
    // Get the key before memory changes: a change that can't be stored must not count, not even for a moment.
    const key = await this.#macKeys.key(this.#name);
    this.#verified = edit(this.#verified);
    this.#key = key;
    await this.#queue.written();
  }

  /**
   * Writes the same records as a new edition, so that no earlier copy counts any more. Call it after the verification.
   */
  async renew(): Promise<void> {
    if (!this.#verified) throw this.#trouble ?? unreadableFile(this.path, 'it was not verified');
    this.#key = await this.#macKeys.key(this.#name);
    this.#isRenewal = true;
    await this.#queue.written();
  }

  async #write(): Promise<void> {
    const [items, key, before, isRenewal] = [this.items, this.#key, this.#durable, this.#isRenewal];
    this.#key = undefined;
    this.#isRenewal = false;
    if (!key) throw new Error('nothing has changed');
    const { epochs } = this.#macKeys;
    // If the vault failed at the last change, the file is one edition ahead. It must never be two ahead.
    await epochs.advance(this.#name, before.edition);
    const isNarrower = isRenewal || narrows(before.items, items, this.#rules);
    const edition = isNarrower ? successorOf(before.edition) : before.edition;
    await this.#store({ items, edition }, key);
    try {
      await epochs.advance(this.#name, edition);
    } catch (error) {
      // The old records get the new edition, since the vault may have stored it. If the disk fails too, the change
      // stays.
      await this.#store({ items: before.items, edition }, key).catch(() => undefined);
      throw error;
    }
  }

  #takeBack(): void {
    this.#verified = this.#durable.items;
    this.#key = undefined;
    this.#isRenewal = false;
  }

  async #store(state: State<Item>, key: KeyObject): Promise<void> {
    const { items, edition } = state;
    const mac = macOf(this.#covered(items, edition), key).toString('base64url');
    await replaceFile(this.path, `${JSON.stringify({ version, edition, items, mac }, undefined, 1)}\n`);
    this.#durable = state;
  }

  /** The input of the MAC: with the items as stored, so that it also covers fields that this version doesn't know. */
  #covered(items: readonly unknown[], edition: Edition): string {
    return [version, this.#name, JSON.stringify(edition), JSON.stringify(items)].join('\n');
  }

  async #readFile(): Promise<Read<Item>> {
    const bytes = await readPrivate(this.path);
    if (!bytes) return { items: [], edition: firstEdition, proof: undefined };
    const json = jsonOf(this.path, bytes.toString('utf8'));
    refuseOtherFormat(this.path, json, version);
    const { edition, mac, ...file } = shaped(this.path, fileSchema, json);
    const { atMost = Number.POSITIVE_INFINITY } = this.#rules;
    const list = z
      .array(this.#schema)
      .max(atMost, `it has more than the ${atMost} records that Keyturn keeps`);
    const { items } = shaped(this.path, z.object({ items: list }), { items: file.items });
    return { items, edition, proof: { mac, covered: this.#covered(file.items, edition) } };
  }
}

function isGenuine({ mac, covered }: Proof, key: KeyObject): boolean {
  const [expected, found] = [macOf(covered, key), Buffer.from(mac, 'base64url')];
  return expected.length === found.length && timingSafeEqual(expected, found);
}

function macOf(covered: string, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(covered).digest();
}

/** What the owner can do, with the newest copy of the file and without it. */
const nextSteps =
  'Put its newest copy back and start the broker again. If that is lost, `keyturn reset` ends this home’s grants and begins a new one.';

function notGenuine(file: string): KeyturnError {
  return unreadableFile(
    file,
    'it is not as this Keyturn wrote it (its MAC is wrong)',
    `Something changed it, so it gives no access. Keyturn left it as it is. ${nextSteps}`,
  );
}

/** `found`: the epoch of the file. `known`: the file's epoch in the vault. */
function notNewest(file: string, found: number, known: number): KeyturnError {
  return unreadableFile(
    file,
    `it is an older copy (epoch ${found}; the vault knows epoch ${known}), so you may have taken away since what it allows`,
    `Something put it back, so it gives no access. Keyturn left it as it is. ${nextSteps}`,
  );
}

/** `known`: the file's epoch in the vault. */
function missing(file: string, known: number): KeyturnError {
  return unreadableFile(
    file,
    `it is gone, though the vault has recorded it (epoch ${known})`,
    `Without it Keyturn can't tell what you refused or ended, so it allows nothing. ${nextSteps}`,
  );
}
