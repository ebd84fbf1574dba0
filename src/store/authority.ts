/**
 * The files of authority of a home, and the proof that this home wrote them.
 *
 * Invariants: the keys of their MACs derive from the home's master secret, which is in the vault. The start reads the
 * files without the vault. They are verified once, when their content is first needed. A file without a MAC is refused.
 * The vault also has the files' epochs (authority-epochs.ts), so that an older copy is refused too.
 */
import { createHmac, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import path from 'node:path';
import type { z } from 'zod';
import { Epochs } from './authority-epochs.ts';
import type { EpochItem } from './authority-epochs.ts';
import { AuthorityFile } from './authority-file.ts';
import type { ChangeRules } from './narrowing.ts';
import type { AuthorityStore, FileTrouble } from './record-store.ts';

export interface AuthorityParts {
  /** The home's state folder. */
  readonly folder: string;
  readonly homeId: string;
  /** The master secret. Called for each use; the result is never kept. Throws the vault's errors. */
  readonly master: () => Promise<KeyObject>;
  /** The epochs in the vault. */
  readonly epochs: EpochItem;
}

/** The stores of a home's records of authority. */
export interface Authority {
  /** The records of `NAME.json`. `rules`: which changes narrow, besides the removal and the change of a record. */
  records<Item>(name: string, schema: z.ZodType<Item>, rules?: ChangeRules<Item>): AuthorityStore<Item>;
  /** Runs `check` in every verification, after the master secret was read and before any record counts. */
  beside(check: () => Promise<void>): void;
  /**
   * Runs `step` once, after the records were verified and before they are used. `step` must call the `renew` that it
   * gets: the method `renew` would wait for `step`.
   */
  afterwards(step: (renew: () => Promise<void>) => Promise<void>): void;
  /** Resolves once every file was verified or is in trouble. Throws the vault's errors. */
  verify(): Promise<void>;
  /** True once `verify` would do nothing. */
  readonly isVerified: boolean;
  /**
   * Makes a new edition of each file, so that no earlier copy counts. Throws as `verify`, and the trouble of a file.
   */
  renew(): Promise<void>;
}

export class HomeAuthority implements Authority {
  readonly #parts: AuthorityParts;
  readonly #epochs: Epochs;
  readonly #files: Pick<AuthorityFile<unknown>, 'judge' | 'renew'>[] = [];
  readonly #beside: (() => Promise<void>)[] = [];
  readonly #afterwards: Parameters<Authority['afterwards']>[0][] = [];
  #running: Promise<void> | undefined;
  isVerified = false;

  constructor(parts: AuthorityParts) {
    this.#parts = parts;
    this.#epochs = new Epochs(parts.epochs);
  }

  records<Item>(name: string, schema: z.ZodType<Item>, rules: ChangeRules<Item> = {}): AuthorityStore<Item> {
    const macKeys = {
      verify: () => this.verify(),
      key: (of: string) => this.#key(of),
      epochs: this.#epochs,
    };
    const file = path.join(this.#parts.folder, `${name}.json`);
    const records = new AuthorityFile({ file, name, schema, rules, macKeys });
    this.#files.push(records);
    return records;
  }

  beside(check: () => Promise<void>): void {
    this.#beside.push(check);
  }

  afterwards(step: (renew: () => Promise<void>) => Promise<void>): void {
    this.#afterwards.push(step);
  }

  async renew(): Promise<void> {
    await this.verify();
    await this.#renewFiles();
  }

  /**
   * After a success it does nothing, so that a token from memory never waits for the vault. After a failure it tries
   * again.
   */
  async verify(): Promise<void> {
    if (this.isVerified) return;
    this.#running ??= this.#verify().finally(() => (this.#running = undefined));
    await this.#running;
  }

  async #verify(): Promise<void> {
    // The master secret first: in another keyring it is missing, which says more than the missing epochs.
    await this.#parts.master();
    for (const check of this.#beside) await check();
    await this.#epochs.load();
    for (const file of this.#files) await file.judge();
    for (const step of this.#afterwards) await step(() => this.#renewFiles());
    this.isVerified = true;
  }

  async #renewFiles(): Promise<void> {
    for (const file of this.#files) await file.renew();
  }

  async #key(name: string): Promise<KeyObject> {
    const label = `keyturn/1 records\n${this.#parts.homeId}\n${name}`;
    return createSecretKey(
      createHmac('sha256', await this.#parts.master())
        .update(label)
        .digest(),
    );
  }
}

/**
 * For the memory vault, which has another master secret at each start, so that no later broker could verify a file. The
 * records are kept in memory and end with the broker, like its pairings. The home's files are not touched.
 */
export class MemoryAuthority implements Authority {
  readonly isVerified = true;

  records<Item>(): AuthorityStore<Item> {
    return new MemoryRecords<Item>();
  }

  beside(): void {
    // This vault has nothing that an earlier broker wrote.
  }

  afterwards(): void {
    // No record of this broker remains after it ends.
  }

  async verify(): Promise<void> {
    // There is nothing that an earlier broker wrote.
  }

  async renew(): Promise<void> {
    // There are no copies.
  }
}

class MemoryRecords<Item> implements AuthorityStore<Item> {
  readonly isLoaded = true;
  readonly trouble: FileTrouble | undefined;
  items: readonly Item[] = [];

  get shown(): readonly Item[] {
    return this.items;
  }

  async load(): Promise<void> {
    // There is nothing to read.
  }

  async verify(): Promise<void> {
    // This broker's own records need no proof.
  }

  async change(edit: (items: readonly Item[]) => readonly Item[]): Promise<void> {
    this.items = edit(this.items);
  }
}
