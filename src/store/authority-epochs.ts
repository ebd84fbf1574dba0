/**
 * The epochs of the files of authority: how often each was narrowed. One item of the vault holds them, so that an older
 * copy of a file does not count.
 *
 * Each narrowing makes a new edition of its file: the epoch rises by one, and a random id distinguishes the edition
 * from any other of the same epoch. The file names its edition and the edition before, and has a MAC.
 *
 *   1. the file gets the next edition        after a crash here, the next start finds the successor of the
 *   2. the vault gets the same edition       vault's edition: it counts, and the vault gets it
 *   3. the caller gets the answer
 *
 * Invariants: step 1 waits until the vault has the file's present edition, so the file is at most one edition ahead. Of
 * two successors of one edition (a broker was killed after step 1, and its file was put back) only the one counts whose
 * id the vault has. One write of the item runs at a time, and no epoch in it ever falls, not even one that another
 * broker wrote. The item exists before the master secret.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { VaultError } from '../vault/base/trouble.ts';
import { mutex } from '../base/mutex.ts';
import type { Vault } from '../vault/base/vault.ts';

/** The vault's item with the epochs of this home's files. */
export const recordsItem = 'records';

export const editionSchema = z.object({
  epoch: z.int().nonnegative(),
  /** 16 random bytes, base64url; empty in epoch 0. */
  id: z.string(),
  /** The id of the edition before. */
  from: z.string(),
});

export type Edition = z.infer<typeof editionSchema>;

/** The edition of a file that was never narrowed. */
export const firstEdition: Edition = { epoch: 0, id: '', from: '' };

export function successorOf({ epoch, id }: Edition): Edition {
  return { epoch: epoch + 1, id: randomBytes(16).toString('base64url'), from: id };
}

const itemSchema = z.object({
  version: z.literal(1),
  epochs: z.record(z.string(), editionSchema.omit({ from: true })),
});

type Known = Pick<Edition, 'epoch' | 'id'>;

/** The vault's item with the epochs. Both methods throw the vault's errors. */
export interface EpochItem {
  /** Undefined only if the vault certainly has none. */
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

export function epochItem(vault: Pick<Vault, 'find' | 'write'>): EpochItem {
  return { read: () => vault.find(recordsItem), write: (text) => vault.write(recordsItem, text) };
}

export class Epochs {
  readonly #item: EpochItem;
  readonly #exclusive = mutex();
  #known: Record<string, Known> = {};

  constructor(item: EpochItem) {
    this.#item = item;
  }

  /** Reads the vault's item. Throws the vault's errors. */
  async load(): Promise<void> {
    const text = await this.#item.read();
    this.#known = text === undefined ? {} : epochsIn(text);
  }

  /** The edition of the file that the vault has. */
  of(name: string): Known {
    return this.#known[name] ?? firstEdition;
  }

  /**
   * True if a file of this edition counts: it is the vault's edition, its successor, or a later one. A vault that is
   * more than one edition behind was restored from a backup, so the file is newer.
   */
  accepts(name: string, { epoch, id, from }: Edition): boolean {
    const known = this.of(name);
    if (epoch === known.epoch) return id === known.id;
    return epoch > known.epoch + 1 || (epoch === known.epoch + 1 && from === known.id);
  }

  /**
   * Resolves when the vault has this edition. Writes nothing if the vault has it already. Throws the vault's errors,
   * and `vault_unreadable` if another broker wrote a later edition.
   */
  async advance(name: string, { epoch, id }: Edition): Promise<void> {
    if (this.of(name).id === id) return;
    await this.#exclusive(async () => {
      const newest = await this.#newest();
      // The vault may have stored our own earlier write although it reported a failure.
      if (newest[name] !== this.#known[name] && newest[name]?.id !== id) throw writtenByOther();
      const epochs = { ...newest, [name]: { epoch, id } };
      await this.#item.write(textOf(epochs));
      this.#known = epochs;
    });
  }

  /**
   * For each file the later of the epoch that we know and the one in the vault: another broker may run on a copy of
   * this home, and neither may undo a change of the other.
   */
  async #newest(): Promise<Record<string, Known>> {
    const text = await this.#item.read();
    const found = Object.entries(text === undefined ? {} : epochsIn(text));
    const later = found.filter(([name, { epoch }]) => epoch > this.of(name).epoch);
    return { ...this.#known, ...Object.fromEntries(later) };
  }
}

/** Writes an item without epochs if the vault has none. Throws the vault's errors. */
export async function beginEpochs(item: EpochItem): Promise<void> {
  const text = await item.read();
  if (text === undefined) await item.write(textOf({}));
}

function textOf(epochs: Record<string, Known>): string {
  return JSON.stringify({ version: 1, epochs });
}

function writtenByOther(): VaultError {
  return new VaultError('damaged', 'another broker has taken something away in this home in the meantime', {
    item: recordsItem,
    rule: 'A home has one broker, and a copy of a home is not another home',
    hint: 'End the broker that runs on a copy of this home, then start this one again.',
  });
}

function epochsIn(text: string): Record<string, Known> {
  try {
    return itemSchema.parse(JSON.parse(text)).epochs;
  } catch {
    throw new VaultError('damaged', `the vault's item "${recordsItem}" has an unknown shape`, {
      item: recordsItem,
      hint: 'It was left as it is. If a newer Keyturn wrote it, update this one.',
    });
  }
}
