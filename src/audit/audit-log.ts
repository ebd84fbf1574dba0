/**
 * The writer of the log: links rows, writes them to disk, and begins a new file when one is full.
 *
 * Invariants: once `append` resolves, its rows are on the disk, in order. No row in a file is rewritten. A torn line of
 * a crash stays, and a row says so. The oldest file is removed only after a row that names its end is on the disk. A
 * home has one writer (the daemon's lock ensures that), and calls to `append` must not overlap.
 */
import type { KeyObject } from 'node:crypto';
import { mkdir, open, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import { AppendOnlyEnd } from '../base/append-only.ts';
import { KeyturnError } from '../base/errors.ts';
import { syncFolder } from '../base/private-file.ts';
import { systemCode } from '../base/system-error.ts';
import { LineDigest, linkRow, noRows, peekLink } from './audit-chain.ts';
import type { ChainHead } from './audit-chain.ts';
import { fullFiles, fullName, openSnapshot } from './audit-files.ts';
import type { SnapshotFile } from './audit-files.ts';
import { provenBytes } from './audit-retention.ts';
import type { Entry, OwnRow } from './audit-row.ts';

export interface LogLimits {
  /** Bytes after which a file is full. */
  readonly fileSize: number;
  /** Files that are kept, with the growing one. */
  readonly files: number;
}

/** Reading 4 MiB takes about ten milliseconds. Eight files hold about 150,000 rows: months for a busy user. */
export const usualLimits: LogLimits = { fileSize: 4 * 1024 * 1024, files: 8 };

export interface LogOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly limits: LogLimits;
  /** A key will come. Until then no file is removed, because only a keyed row may vouch for that. */
  readonly awaitsKey: boolean;
}

interface State {
  readonly at: ChainHead;
  readonly size: number;
  /** False where the file ends in the middle of a line. */
  readonly endsWhole: boolean;
  /** Rows that the log must still write about what it found when it was opened. */
  readonly owed: readonly OwnRow[];
}

export class AuditLog {
  readonly #file: string;
  readonly #options: LogOptions;
  #state: State | undefined;
  #key: KeyObject | undefined;
  /** Rows of this run without a key; undefined once a row has sealed them. */
  #plain: number | undefined = 0;
  /** Number of the last row when this run first looked. */
  #openedAt: number | undefined;

  constructor(file: string, options: LogOptions) {
    this.#file = file;
    this.#options = options;
  }

  /** Where the chain stands on the disk. */
  get at(): ChainHead {
    return this.#state?.at ?? noRows;
  }

  /** Rows up to this number were there before this run. */
  get openedAt(): number {
    return this.#openedAt ?? 0;
  }

  get isSealed(): boolean {
    return this.#plain === undefined;
  }

  /** From the next append on rows are keyed. That append also writes the row that seals those before. */
  useKey(key: KeyObject): void {
    this.#key = key;
  }

  /** Finds where the chain stands; writes nothing. Throws `file_unreadable`. */
  async open(): Promise<void> {
    try {
      this.#state ??= await this.#open();
    } catch (error) {
      throw unwritable(this.#file, error);
    }
  }

  /**
   * Writes the entries and the log's own rows. Throws `file_unreadable`; then nothing was added. An old file that can't
   * be removed stays until the next file is full.
   */
  async append(entries: readonly Entry[]): Promise<void> {
    if (entries.length === 0 && (!this.#key || this.isSealed)) return;
    try {
      this.#state ??= await this.#open();
      if (this.#state.size >= this.#options.limits.fileSize) await this.#turnOver(this.#state);
      const surplus = this.#state.size === 0 ? await this.#surplus() : [];
      await this.#write(this.#state, [...this.#ownRows(this.#state, surplus), ...entries]);
      // The rows are on the disk: a file that can't be removed must not have them written again.
      for (const { file } of surplus)
        await unlink(path.join(path.dirname(this.#file), file)).catch(() => undefined);
    } catch (error) {
      await this.#forgetIfChanged();
      throw unwritable(this.#file, error);
    }
  }

  /** After half a write that couldn't be undone, the next append finds the end of the chain again. */
  async #forgetIfChanged(): Promise<void> {
    const size = await sizeOf(this.#file).catch(() => undefined);
    if (size !== this.#state?.size) this.#state = undefined;
  }

  async #open(): Promise<State> {
    await mkdir(path.dirname(this.#file), { recursive: true, mode: 0o700 });
    const snapshot = await openSnapshot(this.#file);
    try {
      const { at, after, endsWhole } = await lastLink(snapshot.files);
      this.#openedAt ??= at.sequence;
      return { at, size: await sizeOf(this.#file), endsWhole, owed: owedRows(at, after) };
    } finally {
      await snapshot.close();
    }
  }

  async #turnOver(state: State): Promise<void> {
    const newest = (await fullFiles(this.#file)).at(-1)?.number ?? 0;
    await rename(this.#file, fullName(this.#file, newest + 1));
    this.#state = { ...state, size: 0, endsWhole: true };
  }

  /** The rows that announce the removal of surplus files, oldest first. */
  async #surplus(): Promise<Extract<OwnRow, { outcome: 'removed' }>[]> {
    if (this.#options.awaitsKey && !this.#key) return [];
    const rows: Extract<OwnRow, { outcome: 'removed' }>[] = [];
    for (const { path: file } of await this.#tooMany()) {
      const { sequence, head } = await endOf(file);
      rows.push({ event: 'audit', outcome: 'removed', file: path.basename(file), through: sequence, head });
    }
    return rows;
  }

  /** The full files after which the log holds as many proven bytes as the other kept files have together. */
  async #tooMany(): Promise<readonly SnapshotFile[]> {
    const { fileSize, files } = this.#options.limits;
    if ((await fullFiles(this.#file)).length < files) return [];
    const snapshot = await openSnapshot(this.#file);
    try {
      const full = snapshot.files.filter(({ path: file }) => file !== this.#file);
      const proven = await provenBytes(full, this.#key);
      let newer = proven.reduce((sum, bytes) => sum + bytes, 0);
      return full.filter((_, index) => {
        newer -= proven[index] ?? 0;
        return newer >= (files - 1) * fileSize;
      });
    } finally {
      await snapshot.close();
    }
  }

  #ownRows({ at, size, owed }: State, surplus: readonly OwnRow[]): Entry[] {
    const rows: OwnRow[] = [];
    if (size === 0 && at.sequence > 0) {
      rows.push({ event: 'audit', outcome: 'continued', previous: at.head });
    }
    rows.push(...owed);
    if (this.#key && this.#plain !== undefined) {
      rows.push({ event: 'audit', outcome: 'sealed', plain: this.#plain });
    }
    rows.push(...surplus);
    const time = this.#options.now();
    return rows.map((row) => ({ time, row }));
  }

  async #write(state: State, entries: readonly Entry[]): Promise<void> {
    const key = this.#key;
    let at = state.at;
    let text = '';
    for (const entry of entries) {
      const { line, after } = linkRow(at, entry, key);
      text += line;
      at = after;
    }
    const size = await appendText(this.#file, text, state);
    this.#state = { at, size, endsWhole: true, owed: [] };
    if (key) this.#plain = undefined;
    else if (this.#plain !== undefined) this.#plain += entries.length;
  }
}

/** The chain's first row describes the lines before it. Later, a row describes lines that aren't rows. */
function owedRows(at: ChainHead, after: LineDigest): OwnRow[] {
  const { lines } = after;
  const found = { lines, digest: after.end() };
  if (at.sequence === 0) return [{ event: 'audit', outcome: 'started', ...(lines > 0 ? found : {}) }];
  if (lines === 0) return [];
  return [{ event: 'audit', outcome: lines === 1 ? 'torn' : 'foreign', ...found }];
}

interface LogEnd {
  readonly at: ChainHead;
  /** The lines after the last one with a link. */
  readonly after: LineDigest;
  readonly endsWhole: boolean;
}

/** The last link of the log. Reads the newest file, and older ones only while none holds a link. */
async function lastLink(files: readonly SnapshotFile[]): Promise<LogEnd> {
  for (let start = files.length - 1; ; start -= 1) {
    const end = await endOfFiles(files.slice(Math.max(0, start)));
    if (end.at.sequence > 0 || start <= 0) return end;
  }
}

async function endOfFiles(files: readonly SnapshotFile[]): Promise<LogEnd> {
  let end: LogEnd = { at: noRows, after: new LineDigest(), endsWhole: true };
  for (const file of files) {
    for await (const { bytes, isWhole } of file.lines()) {
      const link = peekLink(bytes);
      if (!link) end.after.add(bytes);
      end = link
        ? { at: { sequence: link.sequence, head: link.head }, after: new LineDigest(), endsWhole: isWhole }
        : { ...end, endsWhole: isWhole };
    }
  }
  return end;
}

/** Where the chain stands at the end of one full file. */
async function endOf(file: string): Promise<ChainHead> {
  const snapshot = await openSnapshot(file);
  try {
    return (await endOfFiles(snapshot.files.slice(-1))).at;
  } finally {
    await snapshot.close();
  }
}

async function sizeOf(file: string): Promise<number> {
  try {
    const handle = await open(file, 'r');
    try {
      return (await handle.stat()).size;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 0;
    throw error;
  }
}

/** Appends and syncs; resolves to the file's size. Cuts off what could not be written whole. */
async function appendText(file: string, text: string, { size, endsWhole }: State): Promise<number> {
  const handle = await open(file, 'a', 0o600);
  try {
    const before = (await handle.stat()).size;
    // A backup tool or a person may have given it a wider mode.
    await handle.chmod(0o600);
    // If the size isn't ours, something else wrote here. A line feed then makes our row a line of its own.
    const apart = endsWhole && before === size ? '' : '\n';
    const end = new AppendOnlyEnd(before);
    // Of a new file the name has to last as well, else the rows are cut off again.
    const nameLasts = before === 0 ? () => syncFolder(path.dirname(file)) : undefined;
    await end.append(handle, Buffer.from(apart + text), nameLasts);
    return end.size;
  } finally {
    await handle.close();
  }
}

function unwritable(file: string, error: unknown): KeyturnError {
  if (error instanceof KeyturnError) return error;
  return new KeyturnError(
    'file_unreadable',
    `The audit log ${file} can't be written (${systemCode(error)}).`,
    {
      rule: 'a change that gives somebody more is recorded before it is answered',
      hint: 'See that the folder is yours and that the disk has room; the rows wait in memory until then.',
    },
  );
}
