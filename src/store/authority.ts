/**
 * The files of a home that confer authority, and the proof that this home wrote them.
 *
 * Invariants: their keys derive from the home's master secret, which the vault holds; start-up touches
 * no vault, so the files are read first and verified when their content is first needed, once. A file without a
 * MAC is refused. The vault also holds the files' epochs (authority-epochs.ts), so that an older copy is refused too.
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
  /** The master secret; asked for at each use, and never kept. Throws what the vault throws. */
  readonly master: () => Promise<KeyObject>;
  /** The epochs in the vault. */
  readonly epochs: EpochItem;
}

/** Whose records count once they were verified. */
export interface Authority {
  /** The records of `NAME.json`. `rules`: what narrows besides a removal or a change of a record, and what doesn't. */
  records<Item>(name: string, schema: z.ZodType<Item>, rules?: ChangeRules<Item>): AuthorityStore<Item>;
  /** `check` is done with every verification, after the master secret was found and before anything counts. */
  beside(check: () => Promise<void>): void;
  /** `step` is done once, after the records were verified and before anybody uses them. It renews by what it is given, not by `renew`, which waits for it. */
  afterwards(step: (renew: () => Promise<void>) => Promise<void>): void;
  /** Resolves once every record was verified or found to be in trouble. Throws what the vault throws. */
  verify(): Promise<void>;
  /** No copy of a file made before counts from now on. Throws as `verify`, and the trouble of a file. */
  renew(): Promise<void>;
}

export class HomeAuthority implements Authority {
  readonly #parts: AuthorityParts;
  readonly #epochs: Epochs;
  readonly #files: Pick<AuthorityFile<unknown>, 'judge' | 'renew'>[] = [];
  readonly #beside: (() => Promise<void>)[] = [];
  readonly #afterwards: Parameters<Authority['afterwards']>[0][] = [];
  #running: Promise<void> | undefined;
  #isDone = false;

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

  /** Once it is done it does nothing: a token from memory waits for no vault. A failure is not remembered. */
  async verify(): Promise<void> {
    if (this.#isDone) return;
    this.#running ??= this.#verify().finally(() => (this.#running = undefined));
    await this.#running;
  }

  async #verify(): Promise<void> {
    // First: in a keyring that was exchanged for another the master is missed, before missing epochs can mislead.
    await this.#parts.master();
    for (const check of this.#beside) await check();
    await this.#epochs.load();
    for (const file of this.#files) await file.judge();
    for (const step of this.#afterwards) await step(() => this.#renewFiles());
    this.#isDone = true;
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
 * For the memory vault, whose master secret is another one at each start, so that no later broker could
 * verify a file: the records end with the broker, as its pairings do. The home's files are not touched.
 */
export class MemoryAuthority implements Authority {
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
