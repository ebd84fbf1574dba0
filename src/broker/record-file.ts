/**
 * One file of non-secret records: JSON with a format number, checked by a schema, replaced whole.
 *
 * Invariant: a file that exists but can't be read is left untouched and reported; every access
 * refuses until a person mends it. Only a file that is certainly absent counts as empty.
 */
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import { z } from 'zod';
import { KeyturnError, quoted } from '../errors.ts';

/** Raised when a file's shape changes; a migration then reads the older one. */
const formatVersion = 1;

export class RecordFile<Item> {
  readonly path: string;
  readonly #schema: z.ZodType<{ version: number; items: Item[] }>;
  #items: Item[] | undefined;

  constructor(file: string, itemSchema: z.ZodType<Item>) {
    this.path = file;
    this.#schema = z.object({ version: z.literal(formatVersion), items: z.array(itemSchema) });
  }

  /** Reads the file once; later calls answer from memory. A file that failed is tried anew at each call. */
  async load(): Promise<readonly Item[]> {
    this.#items ??= await this.#read();
    return this.#items;
  }

  /** The records loaded before. Does no I/O. Throws `file_unreadable` where `load` has not succeeded. */
  get items(): readonly Item[] {
    if (!this.#items) throw this.#unreadable('it was not loaded');
    return this.#items;
  }

  /** True once the file has been read, or found absent. */
  get isLoaded(): boolean {
    return this.#items !== undefined;
  }

  /** Replaces all records, in memory at once and on disk (fsync, rename) before it resolves. */
  async save(items: readonly Item[]): Promise<void> {
    if (!this.#items) await this.load();
    this.#items = [...items];
    await mkdir(path.dirname(this.path), { recursive: true, mode: 0o700 });
    const text = `${JSON.stringify({ version: formatVersion, items: this.#items }, undefined, 1)}\n`;
    await writeFileAtomic(this.path, text, { mode: 0o600 });
  }

  async #read(): Promise<Item[]> {
    let text: string;
    try {
      text = await readFile(this.path, 'utf8');
    } catch (error) {
      if (isMissing(error)) return [];
      throw this.#unreadable('it could not be opened');
    }
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      throw this.#unreadable('it is not JSON');
    }
    const parsed = this.#schema.safeParse(json);
    if (parsed.success) return parsed.data.items;
    const issue = parsed.error.issues[0];
    throw this.#unreadable(`${quoted(issue?.path.join('.') ?? '')}: ${issue?.message ?? 'wrong shape'}`);
  }

  #unreadable(what: string): KeyturnError {
    return new KeyturnError('file_unreadable', `${this.path} can't be read: ${what}.`, {
      hint: 'Keyturn left the file as it is. Restore it from a backup, or move it away to start without it.',
    });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
