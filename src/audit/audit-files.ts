/**
 * The files of the audit log: `audit.jsonl`, which grows, and `audit-000001.jsonl`…, which are full.
 *
 * Invariants: rows are added whole and in one write, or not at all; a line that a crash cut off stays a line by itself.
 * Each file is private when it is opened (private-check.ts). A reader sees the log as it was at one moment, even if the
 * broker writes or rotates meanwhile. It holds one line and one chunk of a file in memory.
 */
import { constants, type BigIntStats } from 'node:fs';
import { readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { openPrivate, syncFolder, unreadableFile } from '../base/private/private-file.ts';
import { systemCode } from '../base/system-error.ts';

/** The file that grows. Full ones are beside it. */
function auditFile(folder: string): string {
  return path.join(folder, 'audit.jsonl');
}

export interface LogLimits {
  /** Bytes after which a file is full. */
  readonly fileSize: number;
  readonly fullFiles: number;
}

/** Reading 4 MiB takes about ten milliseconds. Eight files hold about 150,000 rows: months for a busy user. */
export const usualLimits: LogLimits = { fileSize: 4 * 1024 * 1024, fullFiles: 8 };

/**
 * Adds whole lines. They are on the disk when it resolves. Throws `file_unreadable` or the system's error; then none was
 * added.
 */
export async function appendLines(folder: string, lines: string, limits: LogLimits): Promise<void> {
  const size = await append(auditFile(folder), lines);
  // The lines are on the disk: what fails here must not have them written again. The next ones lead to another try.
  if (size >= limits.fileSize) await turnOver(folder, limits).catch(() => undefined);
}

/** Resolves to the file's new size. */
async function append(file: string, lines: string): Promise<number> {
  const { O_RDWR, O_APPEND, O_CREAT } = constants;
  const handle = await openPrivate(file, O_RDWR | O_APPEND | O_CREAT);
  if (!handle)
    throw unreadableFile(path.dirname(file), 'it is gone', 'Restart the broker: keyturn broker restart');
  try {
    const { size } = await handle.stat();
    const bytes = Buffer.from((await endsWhole(handle, size)) ? lines : `\n${lines}`);
    await writeWhole(handle, bytes, size);
    // Of a new file the name has to last as well.
    if (size === 0) await syncFolder(path.dirname(file));
    return size + bytes.length;
  } finally {
    await handle.close();
  }
}

async function endsWhole(handle: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return true;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === 0x0a;
}

/** In one write, so that another writer's rows can't come in between. */
async function writeWhole(handle: FileHandle, bytes: Buffer, before: number): Promise<void> {
  let written = 0;
  try {
    ({ bytesWritten: written } = await handle.write(bytes));
    // A disk that is nearly full takes a part.
    if (written < bytes.length) throw Object.assign(new Error('short write'), { code: 'ENOSPC' });
    await handle.datasync();
  } catch (error) {
    // Only our own bytes are cut off: these rows are written again.
    const isOurs = (await handle.stat()).size === before + written;
    if (isOurs) await handle.truncate(before).catch(() => undefined);
    throw error;
  }
}

async function turnOver(folder: string, { fullFiles: kept }: LogLimits): Promise<void> {
  const full = await fullFiles(folder);
  const newest = full.at(-1)?.number ?? 0;
  // Six digits, so that a listing shows the files in order.
  const name = `audit-${String(newest + 1).padStart(6, '0')}.jsonl`;
  await rename(auditFile(folder), path.join(folder, name));
  for (const old of full.slice(0, Math.max(0, full.length + 1 - kept))) await rm(old.path);
}

/** Oldest first. */
async function fullFiles(folder: string): Promise<{ readonly path: string; readonly number: number }[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return [];
    throw unreadableFile(folder, systemCode(error));
  });
  return names
    .flatMap((name) => {
      const digits = /^audit-(\d{6,12})\.jsonl$/.exec(name)?.[1];
      return digits === undefined ? [] : [{ path: path.join(folder, name), number: Number(digits) }];
    })
    .sort((a, b) => a.number - b.number);
}

/** The lines of one file, without their line feeds. */
export type ReadLines = () => AsyncGenerator<Buffer, void, undefined>;

/** Passes the files of the log to `read` as they are now, oldest first. Throws `file_unreadable`. */
export async function readLog<T>(
  folder: string,
  read: (files: readonly ReadLines[]) => Promise<T>,
): Promise<T> {
  const opened: OpenFile[] = [];
  const openFile = async (file: string): Promise<OpenFile[]> => {
    const handle = await openPrivate(file, constants.O_RDONLY);
    if (!handle) return [];
    const one = { handle, file, about: await handle.stat({ bigint: true }) };
    opened.push(one);
    return [one];
  };
  try {
    // The growing file first. If it is rotated before the listing, the listing has it too, with the same inode.
    const growing = await openFile(auditFile(folder));
    const files: OpenFile[] = [];
    for (const { path: file } of await fullFiles(folder)) files.push(...(await openFile(file)));
    const full = files.filter(({ about }) => about.ino !== growing[0]?.about.ino);
    return await read([...full, ...growing].map((one) => () => linesOf(one)));
  } finally {
    for (const { handle } of opened) await handle.close();
  }
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly file: string;
  readonly about: BigIntStats;
}

/** Bytes of a read: large enough that reads are few, small beside the log. */
const chunkSize = 64 * 1024;
/** Bytes of a line. Ours are far shorter; a longer line isn't ours and is read in pieces. */
const maxLineLength = 1024 * 1024;
/** Bytes. Ours have 4 MiB and one write; of a longer file, which another program made, the end is read. */
const maxRead = 64 * 1024 * 1024;

async function* linesOf({ handle, file, about }: OpenFile): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  for (let position = Math.max(0, Number(about.size) - maxRead); position < about.size;) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkSize, Number(about.size) - position));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position).catch((error: unknown) => {
      throw unreadableFile(file, systemCode(error));
    });
    if (bytesRead === 0) break;
    position += bytesRead;
    const data = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
    let start = 0;
    for (let end = data.indexOf(0x0a); end >= 0; end = data.indexOf(0x0a, start)) {
      if (end > start) yield data.subarray(start, end);
      start = end + 1;
    }
    rest = data.subarray(start);
    if (rest.length > maxLineLength) {
      yield rest;
      rest = Buffer.alloc(0);
    }
  }
  if (rest.length > 0) yield rest;
}
