/**
 * The log of a sealed file: found by id, added to at the end, rewritten when most of it is dead.
 *
 * Invariants: an append resolves only when its bytes are durable and were read back. After one that
 * failed, the file is cut back to what was acknowledged, and its segment (hence its key) is never used
 * again, so no nonce is used twice. While anything is unreadable the file is never rewritten: what is
 * damaged is kept. One writer: a file that is no longer as we left it gets no byte more.
 *
 * The caller lets one call run at a time.
 */
import type { FileHandle } from 'node:fs/promises';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { AppendOnlyEnd, cutTornTail, writeAll } from '../../base/append-only.ts';
import { quoted } from '../../base/errors.ts';
import type { KeyturnError } from '../../base/errors.ts';
import { newDraft, syncFolder } from '../../base/private-file.ts';
import type { Draft } from '../../base/private-file.ts';
import { systemCode } from '../../base/system-error.ts';
import { readAll, troubleOf } from './sealed-disk.ts';
import { unreadable } from './sealed-header.ts';
import type { LogKey } from './sealed-key.ts';
import { newSegment, openRecord, sealRecord, tagOf } from './sealed-record.ts';
import type { RecordKind, Segment } from './sealed-record.ts';
import { noteRemoved, replay } from './sealed-replay.ts';
import type { Contents, Place, Replayed } from './sealed-replay.ts';

/**
 * Bytes. A rewrite costs some ten appends; a smaller file isn't worth it. Also how much a file grows
 * until its dead part is measured again.
 */
const rewriteStep = 256 * 1024;

/** Bytes that a rewrite collects before it writes them. */
const batchLength = 1024 * 1024;

/** The file as we know it. */
interface OnDisk {
  readonly handle: FileHandle;
  readonly device: bigint;
  readonly inode: bigint;
}

export interface OpenLog {
  readonly file: string;
  readonly handle: FileHandle;
  /** The whole file, already read. */
  readonly bytes: Buffer;
  /** Its first line. */
  readonly header: Buffer;
  readonly key: LogKey;
  /** Gets a line for the broker's log: what was found and done. Lines hold no secret. */
  readonly report: (line: string) => void;
  /** Tags of records that it may hold. */
  readonly sought?: readonly string[];
}

export class SealedLog {
  readonly #file: string;
  readonly #report: (line: string) => void;
  readonly #contents: Contents;
  readonly #foundTags: ReadonlySet<string>;
  #header: Buffer;
  #disk: OnDisk;
  #key: LogKey;
  #end: AppendOnlyEnd;
  /** Of this opening; undefined until its first append. */
  #segment: Segment | undefined;
  /** A replacement is in place, and a power cut might still undo it. */
  #owesFolderSync = false;
  /** Bytes from which the dead part is measured. */
  #measureFrom = rewriteStep;

  private constructor(options: OpenLog, disk: OnDisk, { whole, foundTags, ...contents }: Replayed) {
    this.#file = options.file;
    this.#report = options.report;
    this.#header = options.header;
    this.#key = options.key;
    this.#disk = disk;
    this.#contents = contents;
    this.#foundTags = foundTags;
    this.#end = new AppendOnlyEnd(whole);
  }

  /** Reads the log, and puts a torn tail aside. Throws `vault_unavailable` where that can't be kept. */
  static async open(options: OpenLog): Promise<SealedLog> {
    const { file, handle, bytes, header, key, report } = options;
    const replayed = replay(bytes, header.length, key, options.sought);
    const { whole } = replayed;
    try {
      if (whole < bytes.length) {
        const aside = await cutTornTail(file, handle, whole, bytes.subarray(whole));
        report(
          `${quoted(file)} ended in a write that a crash had cut short: its ${bytes.length - whole} bytes are kept in ${quoted(aside)}`,
        );
      }
      // What was read may still be on its way to the disk: it was written by a broker that a crash ended.
      await handle.sync();
    } catch (error) {
      throw troubleOf(file, error);
    }
    const opened = new SealedLog(options, await onDisk(handle), replayed);
    if (opened.damage !== undefined) report(`${quoted(file)}: ${opened.damage}`);
    return opened;
  }

  /** Its random id, 16 bytes. */
  get id(): Buffer {
    return this.#key.id;
  }

  /** The tag of its newest record; undefined where damage hides which one that is. */
  get newest(): string | undefined {
    return this.#contents.newest;
  }

  /** Whether it held the record of this tag when it was opened, if that was one of those sought. */
  holds(tag: string): boolean {
    return this.#foundTags.has(tag);
  }

  /** What can't be read, as a sentence; undefined where everything can. */
  get damage(): string | undefined {
    const lost = [...this.#contents.items].filter(([, item]) => item.state === 'lost').map(([id]) => id);
    if (this.#contents.doubt)
      return 'a piece is damaged that may have held any item; only what was written after it is readable';
    return lost.length === 0 ? undefined : `damaged: ${lost.map(quoted).join(', ')}`;
  }

  /** The secret; undefined where there is certainly none. Throws `vault_unreadable`. */
  async find(id: string): Promise<string | undefined> {
    await this.#checkOurs();
    const item = this.#contents.items.get(id);
    if (item?.state === 'live') return this.#secretAt(id, item);
    if (item?.state === 'lost' || (!item && this.#contents.doubt)) throw this.#damaged(id);
    return undefined;
  }

  /** Throws `vault_unavailable` (the disk takes no more), `vault_unreadable` (somebody else wrote). */
  async put(id: string, secret: string): Promise<void> {
    this.#contents.items.set(id, await this.#append('value', id, secret));
  }

  /** As `put`. Writes nothing where there is certainly nothing under `id`. */
  async remove(id: string): Promise<void> {
    await this.#checkOurs();
    const item = this.#contents.items.get(id);
    if (item?.state === 'removed' || (!item && !this.#contents.doubt)) return;
    await this.#append('removal', id, '');
    noteRemoved(this.#contents, id);
  }

  /** As `put`, of a record that holds nothing. */
  async probe(): Promise<void> {
    await this.#append('probe', '', '');
  }

  /**
   * Replaces the file by one with this first line, everything under `key` and nothing dead. `announce` is called
   * with the tag of its newest record before it takes the file's place. Throws `vault_unreadable` where something
   * is damaged: the file stays then, as it does on any failure.
   */
  async rewrite(
    header: Buffer,
    key: LogKey,
    announce: (tag: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    await this.#checkOurs();
    if (this.damage !== undefined)
      throw unreadable(quoted(this.#file), `${this.damage}. Keyturn does not replace it in this state`);
    const segment = newSegment(key, this.#contents.sequence, true);
    let draft: Draft | undefined;
    try {
      draft = await newDraft(this.#file);
      const { places, size, sequence, newest } = await this.#copyLive(draft.handle, header, segment);
      await this.#checkOurs();
      await announce(newest);
      const disk = await onDisk(draft.handle);
      await draft.publish();
      const before = this.#disk.handle;
      for (const [id, place] of places) this.#contents.items.set(id, place);
      [this.#contents.sequence, this.#contents.newest] = [sequence, newest];
      [this.#disk, this.#header, this.#key] = [disk, header, key];
      [this.#segment, this.#end] = [segment, new AppendOnlyEnd(size)];
      this.#owesFolderSync = true;
      await before.close();
    } catch (error) {
      if (this.#disk.handle !== draft?.handle) await draft?.discard();
      throw troubleOf(this.#file, error);
    }
    await this.#settleFolder();
  }

  /** True when more of the file is dead than alive, and all of it can be read. */
  get isMostlyDead(): boolean {
    const { size } = this.#end;
    if (size < this.#measureFrom || this.damage !== undefined) return false;
    this.#measureFrom = size + rewriteStep;
    let live = 0;
    for (const item of this.#contents.items.values()) if (item.state === 'live') live += item.length;
    return size > 2 * live;
  }

  /** Rewrites the file without what is dead. A failure is reported, harms nothing, and is tried again later. */
  async compact(announce?: (tag: string) => Promise<void>): Promise<void> {
    try {
      await this.rewrite(this.#header, this.#key, announce);
      this.#measureFrom = this.#end.size + rewriteStep;
    } catch (error) {
      this.#report(`${quoted(this.#file)} was not compacted: ${error instanceof Error ? error.message : ''}`);
    }
  }

  async close(): Promise<void> {
    this.#contents.items.clear();
    await this.#disk.handle.close();
  }

  async #append(kind: RecordKind, id: string, secret: string): Promise<Place> {
    await this.#checkOurs();
    await this.#settleFolder();
    const { sequence } = this.#contents;
    const segment = this.#segment ?? newSegment(this.#key, sequence, false);
    const record = sealRecord(segment, { kind, id, sequence }, secret);
    const bytes = this.#segment ? record : Buffer.concat([segment.header, record]);
    try {
      await this.#end.append(this.#disk.handle, bytes, () => this.#readBack(bytes));
    } catch (error) {
      this.#segment = undefined;
      throw troubleOf(this.#file, error);
    }
    this.#segment = segment;
    this.#contents.sequence = sequence + 1;
    if (kind !== 'probe') this.#contents.newest = tagOf(record);
    const offset = this.#end.size - record.length;
    return { state: 'live', segment, sequence, offset, length: record.length };
  }

  async #readBack(bytes: Buffer): Promise<void> {
    const kept = await readAll(this.#disk.handle, this.#end.size, bytes.length);
    if (kept.equals(bytes)) return;
    throw unreadable(quoted(this.#file), 'what was written is not what is read back', 'check the disk');
  }

  /** Before anything is added to a replacement: a power cut could still bring the old file back. Throws `vault_unavailable`. */
  async #settleFolder(): Promise<void> {
    if (!this.#owesFolderSync) return;
    try {
      await syncFolder(path.dirname(this.#file));
    } catch (error) {
      throw troubleOf(this.#file, error);
    }
    this.#owesFolderSync = false;
  }

  async #copyLive(
    to: FileHandle,
    header: Buffer,
    segment: Segment,
  ): Promise<{ places: Map<string, Place>; size: number; sequence: number; newest: string }> {
    const places = new Map<string, Place>();
    let newest = tagOf(segment.header);
    let batch = [header, segment.header];
    let [written, size, sequence] = [0, header.length + segment.header.length, segment.sequence];
    const flush = async (): Promise<void> => {
      await writeAll(to, Buffer.concat(batch), written);
      [batch, written] = [[], size];
    };
    for (const [id, item] of this.#contents.items) {
      if (item.state !== 'live') continue;
      const record = sealRecord(segment, { kind: 'value', id, sequence }, await this.#secretAt(id, item));
      places.set(id, { state: 'live', segment, sequence, offset: size, length: record.length });
      batch.push(record);
      newest = tagOf(record);
      size += record.length;
      sequence += 1;
      if (size - written >= batchLength) await flush();
    }
    await flush();
    return { places, size, sequence, newest };
  }

  async #secretAt(id: string, { offset, length, segment, sequence }: Place): Promise<string> {
    let record: Buffer;
    try {
      record = await readAll(this.#disk.handle, offset, length);
    } catch (error) {
      throw unreadable(
        quoted(this.#file),
        `the disk fails (${systemCode(error)})`,
        'restore it from a backup',
      );
    }
    const plaintext = openRecord(record, segment, sequence);
    if (!plaintext) throw this.#damaged(id);
    const secret = plaintext.toString('utf8');
    plaintext.fill(0);
    return secret;
  }

  /**
   * Throws `vault_unreadable` where the file isn't as we left it: another one in its place, or longer or
   * shorter. What was changed in between, at the same length, fails its tag when it is read.
   */
  async #checkOurs(): Promise<void> {
    const found = await stat(this.#file, { bigint: true }).catch(() => undefined);
    const { device, inode } = this.#disk;
    const isSame = found?.dev === device && found.ino === inode;
    const hasSize = found !== undefined && this.#end.isAsLeft(Number(found.size));
    if (isSame && hasSize) return;
    throw unreadable(
      quoted(this.#file),
      found ? 'another program changed it' : 'it is no longer there',
      'end what changed it (a second broker, a backup, a synchronized folder), then: keyturn lock, keyturn unlock',
    );
  }

  #damaged(id: string): KeyturnError {
    return unreadable(
      quoted(this.#file),
      `its item ${quoted(id)} is damaged, or may have been in a piece that is`,
      'restore the file from a backup, or sign in again; nothing was deleted',
      id,
    );
  }
}

async function onDisk(handle: FileHandle): Promise<OnDisk> {
  const { dev, ino } = await handle.stat({ bigint: true });
  return { handle, device: dev, inode: ino };
}
