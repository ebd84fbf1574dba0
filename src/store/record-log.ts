/**
 * An index of records in a file that grows: one line of JSON for each change. The file is rewritten when most lines are
 * dead: later ones have replaced them.
 *
 * Invariants: a change is on the disk (fdatasync) before it is complete. A crash may tear the last line, which was
 * never acknowledged: it is kept in a file beside. Any other unreadable line makes the whole file unreadable; it is
 * kept, and never counts as empty. Nothing is appended to a file that another program changed.
 */
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { AppendOnlyEnd, cutTornTail } from '../base/append-only.ts';
import { KeyturnError } from '../base/errors.ts';
import {
  openPrivate,
  readPrivate,
  replaceFile,
  unreadableFile,
  unwritableFile,
} from '../base/private-file.ts';
import { formats, jsonOf, refuseOtherFormat, shaped } from './record-formats.ts';
import { troubleWith, WriteQueue } from './record-store.ts';
import type { RecordStore, FileTrouble } from './record-store.ts';

const version = formats.grants;
const headerSchema = z.object({ records: z.string(), version: z.literal(version) });

/** The file may always have this many dead lines, so that a small file isn't rewritten for a few of them. */
const spareLines = 256;

const newline = 0x0a;

/** A change that is in memory and not yet on the disk. */
interface Unsaved<Item> {
  readonly line: string;
  readonly id: string;
  readonly before: Item | undefined;
}

export class RecordLog<Item extends { readonly id: string }> implements RecordStore<Item> {
  readonly path: string;
  /** The file's first line. */
  readonly #header: string;
  readonly #lineSchema: z.ZodType<{ put: Item } | { remove: string }>;
  readonly #report: (line: string) => void;
  readonly #queue = new WriteQueue({ write: () => this.#write(), takeBack: () => this.#takeBack() });
  #records: Map<string, Item> | undefined;
  #items: readonly Item[] | undefined;
  #unsaved: Unsaved<Item>[] = [];
  #trouble: KeyturnError | undefined;
  /** The acknowledged end of the file; size 0 if there is no file. */
  #end = new AppendOnlyEnd(0);
  /** The number of lines for changes in the file, including dead ones. */
  #lines = 0;

  /** `report` gets lines for the broker's log. No line contains a record. */
  constructor(file: string, itemSchema: z.ZodType<Item>, report: (line: string) => void = () => undefined) {
    this.path = file;
    this.#header = `${JSON.stringify({ records: path.basename(file, '.jsonl'), version })}\n`;
    this.#lineSchema = z.union([z.strictObject({ put: itemSchema }), z.strictObject({ remove: z.string() })]);
    this.#report = report;
  }

  get items(): readonly Item[] {
    this.#items ??= [...this.#known().values()];
    return this.#items;
  }

  byId(id: string): Item | undefined {
    return this.#known().get(id);
  }

  get isLoaded(): boolean {
    return this.#records !== undefined;
  }

  get trouble(): FileTrouble | undefined {
    return this.#trouble && troubleWith(this.path, this.#trouble);
  }

  async load(): Promise<void> {
    if (this.#records) return;
    try {
      const bytes = await readPrivate(this.path);
      this.#records = bytes ? await this.#parse(bytes) : new Map();
      this.#trouble = undefined;
    } catch (error) {
      if (error instanceof KeyturnError) this.#trouble = error;
      throw error;
    }
  }

  /** Adds the record, or replaces the one with its id: in memory at once, and durable when it resolves. */
  async put(item: Item): Promise<void> {
    await this.#change(item.id, item, { put: item });
  }

  /** Removes the record, as `put`. An unknown id is no error. */
  async remove(id: string): Promise<void> {
    await this.#change(id, undefined, { remove: id });
  }

  async #change(id: string, item: Item | undefined, entry: object): Promise<void> {
    const records = this.#known();
    this.#unsaved.push({ line: `${JSON.stringify(entry)}\n`, id, before: records.get(id) });
    this.#place(id, item);
    await this.#queue.written();
  }

  #place(id: string, item: Item | undefined): void {
    if (item) this.#known().set(id, item);
    else this.#known().delete(id);
    this.#items = undefined;
  }

  #known(): Map<string, Item> {
    if (this.#records) return this.#records;
    throw this.#trouble ?? unreadableFile(this.path, 'it was not loaded');
  }

  #takeBack(): void {
    for (const { id, before } of this.#unsaved.toReversed()) this.#place(id, before);
    this.#unsaved = [];
  }

  async #write(): Promise<void> {
    const batch = [...this.#unsaved];
    const isMostlyDead = this.#lines + batch.length > 2 * this.#known().size + spareLines;
    const isNew = this.#end.size === 0;
    const isRewritten = isNew || (isMostlyDead && (await this.#compacted()));
    if (isNew) await this.#rewrite();
    else if (!isRewritten) await this.#append(batch);
    this.#unsaved.splice(0, batch.length);
  }

  /** False if the rewrite failed, as on a full disk. Then the change is appended, and a later one tries again. */
  async #compacted(): Promise<boolean> {
    try {
      await this.#rewrite();
      return true;
    } catch (error) {
      this.#report(error instanceof Error ? error.message : `${this.path} could not be compacted`);
      return false;
    }
  }

  /** Writes a new file with all records in memory. */
  async #rewrite(): Promise<void> {
    const records = this.#known();
    const lines = [...records.values()].map((item) => `${JSON.stringify({ put: item })}\n`);
    const content = Buffer.from(this.#header + lines.join(''));
    await this.#checkUnchanged();
    await replaceFile(this.path, content);
    this.#end = new AppendOnlyEnd(content.length);
    this.#lines = lines.length;
  }

  /** Throws if another program changed the file: such a file is not overwritten. */
  async #checkUnchanged(): Promise<void> {
    const handle = await openPrivate(this.path, constants.O_RDONLY);
    if (!handle && this.#end.size === 0) return;
    try {
      if (!handle || !(await this.#isAsLeft(handle))) throw changedByOther(this.path);
    } finally {
      await handle?.close();
    }
  }

  async #isAsLeft(handle: FileHandle): Promise<boolean> {
    return this.#end.isAsLeft((await handle.stat()).size);
  }

  async #append(batch: readonly Unsaved<Item>[]): Promise<void> {
    const handle = await openPrivate(this.path, constants.O_WRONLY | constants.O_APPEND);
    if (!handle) throw changedByOther(this.path);
    try {
      if (!(await this.#isAsLeft(handle))) throw changedByOther(this.path);
      await this.#end.append(handle, Buffer.from(batch.map(({ line }) => line).join('')));
      this.#lines += batch.length;
    } catch (error) {
      throw unwritableFile(this.path, error);
    } finally {
      await handle.close();
    }
  }

  async #parse(bytes: Buffer): Promise<Map<string, Item>> {
    const end = bytes.lastIndexOf(newline) + 1;
    if (end === 0) throw unreadableFile(this.path, 'its first line is missing or torn');
    const records = new Map<string, Item>();
    let [number, start] = [0, 0];
    // One line at a time: the text of the whole file, and of each line, would all be in memory at once.
    while (start < end) {
      const next = bytes.indexOf(newline, start);
      const line = bytes.toString('utf8', start, next);
      [number, start] = [number + 1, next + 1];
      if (number === 1) {
        this.#checkHeader(line);
        continue;
      }
      const entry = this.#entry(line, number);
      if ('put' in entry) records.set(entry.put.id, entry.put);
      else records.delete(entry.remove);
    }
    if (end < bytes.length) await this.#cutOff(bytes.subarray(end), end);
    this.#end = new AppendOnlyEnd(end);
    this.#lines = number - 1;
    return records;
  }

  #checkHeader(line: string): void {
    const json = jsonOf(this.path, line);
    refuseOtherFormat(this.path, json, version);
    shaped(this.path, headerSchema, json);
    if (`${line}\n` !== this.#header) throw unreadableFile(this.path, 'it is another kind of records');
  }

  #entry(line: string, number: number): { put: Item } | { remove: string } {
    try {
      const parsed = this.#lineSchema.safeParse(JSON.parse(line));
      if (parsed.success) return parsed.data;
    } catch {
      // The parser's error repeats a piece of the line.
    }
    throw unreadableFile(this.path, `line ${number} is damaged`);
  }

  /** Keeps a torn last line in a file beside the log, then cuts it off. */
  async #cutOff(tail: Buffer, end: number): Promise<void> {
    const handle = await openPrivate(this.path, constants.O_WRONLY);
    if (!handle) throw changedByOther(this.path);
    let aside: string;
    try {
      aside = await cutTornTail(this.path, handle, end, tail);
    } catch (error) {
      throw unwritableFile(this.path, error);
    } finally {
      await handle.close();
    }
    this.#report(`${this.path} ended in a torn line, as a crash leaves it: kept as ${path.basename(aside)}`);
  }
}

function changedByOther(file: string): KeyturnError {
  return unreadableFile(
    file,
    'something else changed it while the broker ran',
    'Keyturn left it as it is. Stop the broker (keyturn daemon --stop), see that the file is the right one, and start again.',
  );
}
