/**
 * The vault's item `newest`: number and id of the newest document, and whether the next start begins paused. An older
 * document is told by it, and another broker that works on a copy of the home.
 *
 * Invariant: an item of an unknown shape is reported and left as it is.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { VaultError } from '../vault/base/trouble.ts';
import { getIfAny, newestItem, type Vault } from '../vault/base/vault.ts';
import { otherBroker, withoutNumber } from './document-refusals.ts';
import type { Mark } from './document-text.ts';

const randomId = (): string => randomBytes(16).toString('base64url');

const schema = z.strictObject({
  number: z.int().nonnegative(),
  id: z.string().min(1),
  /** Something was taken away that the file could not take. */
  held: z.literal(true).optional(),
});

type Known = z.infer<typeof schema>;

/** Which document is on the disk, and which one the vault has. Every call of the vault throws its errors. */
export class Numbers {
  readonly #vault: Pick<Vault, 'get' | 'replace'>;
  /** What the vault showed last. */
  #shown: string | undefined;
  /** The document on the disk. */
  #mark: Mark = { number: 0, id: randomId() };
  /** The vault has this one. */
  #noted: Mark | undefined;
  /** The ids that the vault may have instead: setting them failed, and may have been done. */
  #perhaps: string[] = [];
  /** The id that the vault had at the start, and every one that this broker has written. */
  readonly #ours = new Set<string>();

  constructor(vault: Pick<Vault, 'get' | 'replace'>) {
    this.#vault = vault;
  }

  /** The vault doesn't have the number of the document on the disk. */
  get isOwed(): boolean {
    return this.#mark.number > 0 && this.#noted?.id !== this.#mark.id;
  }

  /** The vault never had one. */
  get isFirst(): boolean {
    return this.#noted === undefined;
  }

  /** The number that the vault has. */
  get noted(): number {
    return this.#noted?.number ?? 0;
  }

  /** At the start, regardless of who wrote it. Throws if there is none beside a document. */
  async first(hasDocument: boolean): Promise<Known | undefined> {
    const known = this.#seen(await getIfAny(this.#vault, newestItem));
    if (hasDocument && !known) throw withoutNumber();
    return known;
  }

  /** `onDisk` was accepted. */
  begin(onDisk: Mark | undefined, known: Known | undefined): void {
    if (onDisk) this.#mark = onDisk;
    if (known) this.#has(known);
  }

  /** Throws as well if another broker wrote it. */
  async read(): Promise<Known | undefined> {
    const known = this.#seen(await getIfAny(this.#vault, newestItem));
    if (known && !this.#ours.has(known.id)) throw otherBroker();
    if (!known && this.#noted) throw withoutNumber();
    return known;
  }

  /** As `read`. What the vault shows is what it has. */
  async learn(): Promise<void> {
    const known = await this.read();
    if (known) this.#has(known);
  }

  /** Of the next document. */
  next(): Mark & { readonly after: readonly string[] } {
    const after = [this.#noted?.id ?? '', ...this.#perhaps];
    return { number: this.noted + 1, id: randomId(), after };
  }

  /** It is on the disk. */
  wrote({ number, id }: Mark): void {
    this.#mark = { number, id };
    this.#ours.add(id);
  }

  /** Writes the number of the document on the disk. Throws as `read`. */
  async note(isHeld: boolean): Promise<void> {
    const { number, id } = this.#mark;
    this.#ours.add(id);
    const text = JSON.stringify(isHeld ? { number, id, held: true } : { number, id });
    try {
      let known = await this.#replace(text);
      // A write that was given up may have come through after the last read.
      if (known?.id !== id && this.#ours.has(known?.id ?? '')) known = await this.#replace(text);
      if (known?.id !== id) throw otherBroker();
    } catch (error) {
      this.#perhaps.push(id);
      throw error;
    }
    this.#has({ number, id });
  }

  /** Only over what was last read or written here. */
  async #replace(text: string): Promise<Known | undefined> {
    return this.#seen(await this.#vault.replace(newestItem, this.#shown, text));
  }

  #seen(text: string | undefined): Known | undefined {
    this.#shown = text;
    return text === undefined ? undefined : knownIn(text);
  }

  #has({ number, id }: Mark): void {
    this.#noted = { number, id };
    this.#perhaps = [];
    this.#ours.add(id);
  }
}

function knownIn(text: string): Known {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new VaultError('damaged', `the vault's item "${newestItem}" has an unknown shape`, {
      item: newestItem,
      hint: 'It was left as it is. Restore the vault from a backup, or begin again: `keyturn reset`.',
    });
  }
}
