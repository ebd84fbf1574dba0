/**
 * The log of a sealed file. It finds items by id, appends records, and rewrites the file when most of it is dead:
 * records that later ones have replaced.
 *
 * Invariants: an append resolves only when its bytes are durable and were read back. After a failed append the file is
 * cut back to the last acknowledged record, and the segment (and with it the key) is never used again, so that no nonce
 * is used twice. A file with an unreadable part is never rewritten, so that the damaged bytes are kept. If another
 * program changed the file, nothing more is written to it.
 *
 * The caller runs one call at a time.
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
 * Bytes. A rewrite costs about as much as ten appends, so a smaller file isn't rewritten. After each measurement of the
 * dead part, the file grows by this much before the next one.
 */
const rewriteStep = 256 * 1024;

/** Bytes that a rewrite collects before it writes them. */
const batchLength = 1024 * 1024;

/** The file that we opened or wrote. */
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
  /** Gets lines for the broker's log. No line contains a secret. */
  readonly report: (line: string) => void;
  /** Tags of records: `holds` answers for these. */
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
  /** The segment for new records; undefined before the first append and after a failed one. */
  #segment: Segment | undefined;
  /** True after a rewrite until the folder is synced: before that, a power cut could bring the old file back. */
  #owesFolderSync = false;
  /** The size of the file, in bytes, from which its dead part is measured. */
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

  /** Reads the log, and moves a torn tail to a file beside it. Throws `vault_unavailable` if the disk refuses that. */
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
      // A broker that crashed may have written these bytes without a sync.
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

  /** The tag of its newest record; undefined if damage hides which one that is. */
  get newest(): string | undefined {
    return this.#contents.newest;
  }

  /** True if the tag was in `sought`, and the file held its record when it was opened. */
  holds(tag: string): boolean {
    return this.#foundTags.has(tag);
  }

  /** The unreadable part, as text for the owner; undefined if all of the file is readable. */
  get damage(): string | undefined {
    const lost = [...this.#contents.items].filter(([, item]) => item.state === 'lost').map(([id]) => id);
    if (this.#contents.doubt)
      return 'a piece is damaged that may have held any item; only what was written after it is readable';
    return lost.length === 0 ? undefined : `damaged: ${lost.map(quoted).join(', ')}`;
  }

  /** The secret; undefined only if there certainly is none. Throws `vault_unreadable`. */
  async find(id: string): Promise<string | undefined> {
    await this.#checkOurs();
    const item = this.#contents.items.get(id);
    if (item?.state === 'live') return this.#secretAt(id, item);
    if (item?.state === 'lost' || (!item && this.#contents.doubt)) throw this.#damaged(id);
    return undefined;
  }

  /** Throws `vault_unavailable` (the disk refused) or `vault_unreadable` (another program changed the file). */
  async put(id: string, secret: string): Promise<void> {
    this.#contents.items.set(id, await this.#append('value', id, secret));
  }

  /** Throws as `put`. Writes nothing if there certainly is no item under `id`. */
  async remove(id: string): Promise<void> {
    await this.#checkOurs();
    const item = this.#contents.items.get(id);
    if (item?.state === 'removed' || (!item && !this.#contents.doubt)) return;
    await this.#append('removal', id, '');
    noteRemoved(this.#contents, id);
  }

  /** Appends a record without an item. Throws as `put`. */
  async probe(): Promise<void> {
    await this.#append('probe', '', '');
  }

  /**
   * Replaces the file by one with the first line `header` and only the live records, encrypted under `key`. Calls
   * `announce` with the tag of the new file's newest record before the new file replaces the old one. Throws
   * `vault_unreadable` if a part is damaged. The old file stays after any failure before the replacement.
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

  /** True if more than half of the file is dead and all of it is readable. Measures only once in each `rewriteStep`. */
  get isMostlyDead(): boolean {
    const { size } = this.#end;
    if (size < this.#measureFrom || this.damage !== undefined) return false;
    this.#measureFrom = size + rewriteStep;
    let live = 0;
    for (const item of this.#contents.items.values()) if (item.state === 'live') live += item.length;
    return size > 2 * live;
  }

  /** Rewrites the file without its dead records. A failure is reported and loses nothing; a later call tries again. */
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

  /**
   * Syncs the folder after a rewrite, before anything is appended to the new file: until then a power cut could bring
   * the old file back. Throws `vault_unavailable`.
   */
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
   * Throws `vault_unreadable` if the file was replaced or has another length than we left. A change that keeps the
   * length is found when the record is read, because its tag fails.
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
      'End what changed it (a second broker, a backup, a synchronized folder), then: keyturn lock, keyturn unlock',
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
