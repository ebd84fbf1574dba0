/**
 * The epochs of the files of authority: how often each was narrowed, kept in one item of the vault, so that
 * an older copy of a file does not count.
 *
 * Each narrowing makes a new edition of its file: the epoch is one more, and a random id tells the edition
 * from any other of the same epoch. The file names the edition that it came from, and lies under a MAC.
 *
 *   1. the file gets the next edition        a crash here: the next start finds the vault's successor,
 *   2. the vault gets it                     which counts, and the vault advances
 *   3. the change is answered
 *
 * Invariants: step 1 waits until the vault has the edition that the file has, so the file is at most one
 * ahead. Of two successors of one edition (a broker was killed after step 1 and its file was put back) only
 * the one that the vault got counts: the id says which. The vault's item is written by one at a time, and no
 * epoch in it goes back, not even one that another broker wrote. It is there before the master secret is made.
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
  /** The id of the edition that this one took the place of. */
  from: z.string(),
});

export type Edition = z.infer<typeof editionSchema>;

/** Of a file that was never narrowed. */
export const firstEdition: Edition = { epoch: 0, id: '', from: '' };

export function successorOf({ epoch, id }: Edition): Edition {
  return { epoch: epoch + 1, id: randomBytes(16).toString('base64url'), from: id };
}

const itemSchema = z.object({
  version: z.literal(1),
  epochs: z.record(z.string(), editionSchema.omit({ from: true })),
});

type Known = Pick<Edition, 'epoch' | 'id'>;

/** One item of the vault. Both throw what the vault throws. */
export interface EpochItem {
  /** Undefined only when the vault certainly has none. */
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

  /** Reads what the vault has. Throws what the vault throws. */
  async load(): Promise<void> {
    const text = await this.#item.read();
    this.#known = text === undefined ? {} : epochsIn(text);
  }

  /** What the vault has for the file. */
  of(name: string): Known {
    return this.#known[name] ?? firstEdition;
  }

  /**
   * Whether a file of this edition counts: the vault's own, its successor, or one further on. Only a vault
   * that was put back is so far behind; the file is then newer.
   */
  accepts(name: string, { epoch, id, from }: Edition): boolean {
    const known = this.of(name);
    if (epoch === known.epoch) return id === known.id;
    return epoch > known.epoch + 1 || (epoch === known.epoch + 1 && from === known.id);
  }

  /**
   * The vault has this edition when it resolves; nothing is written where it had. Throws what the vault throws,
   * and `vault_unreadable` where another broker wrote a later one.
   */
  async advance(name: string, { epoch, id }: Edition): Promise<void> {
    if (this.of(name).id === id) return;
    await this.#exclusive(async () => {
      const newest = await this.#newest();
      // Our own write may be there too, if the vault stored it and reported a failure.
      if (newest[name] !== this.#known[name] && newest[name]?.id !== id) throw writtenByOther();
      const epochs = { ...newest, [name]: { epoch, id } };
      await this.#item.write(textOf(epochs));
      this.#known = epochs;
    });
  }

  /**
   * The later of what we know and what the vault has: another broker may run on a copy of this home, and neither
   * may undo what the other wrote.
   */
  async #newest(): Promise<Record<string, Known>> {
    const text = await this.#item.read();
    const found = Object.entries(text === undefined ? {} : epochsIn(text));
    const later = found.filter(([name, { epoch }]) => epoch > this.of(name).epoch);
    return { ...this.#known, ...Object.fromEntries(later) };
  }
}

/** Writes the item of a home without epochs, where there is none yet. Throws what the vault throws. */
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

/** True where nobody has written the item: the home has no master secret yet. */
export function isBeforeEpochs(text: string | undefined): boolean {
  return text === undefined;
}

function epochsIn(text: string): Record<string, Known> {
  try {
    return itemSchema.parse(JSON.parse(text)).epochs;
  } catch {
    throw new VaultError('damaged', `the vault's item "${recordsItem}" has an unknown shape`, {
      item: recordsItem,
      hint: 'It was left as it is. If a newer Keyturn wrote it, update this one; if one before 0.1.0 did, begin a new home: keyturn reset',
    });
  }
}
