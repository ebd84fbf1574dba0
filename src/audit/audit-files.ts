/**
 * The files of the audit log: `audit.jsonl`, which grows, and `audit-000001.jsonl`…, which are full.
 *
 * Invariant: a reader sees the log as it was at one moment, even if the broker writes or rotates meanwhile. It holds
 * one line and one chunk of a file in memory.
 */
import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { KeyturnError } from '../base/errors.ts';
import { systemCode } from '../base/system-error.ts';

/** The file that grows. Full ones lie beside it. */
export function auditFile(folder: string): string {
  return path.join(folder, 'audit.jsonl');
}

export interface FullFile {
  readonly path: string;
  readonly number: number;
}

/** The full files beside `current`, oldest first. */
export async function fullFiles(current: string): Promise<readonly FullFile[]> {
  const { dir, name: stem, ext } = path.parse(current);
  const found: FullFile[] = [];
  for (const name of await readdir(dir).catch(absentAsEmpty)) {
    const number = numberIn(name, stem, ext);
    if (number !== undefined) found.push({ path: path.join(dir, name), number });
  }
  return found.sort((a, b) => a.number - b.number);
}

/** The name that `current` gets when it is full. */
export function fullName(current: string, number: number): string {
  const { dir, name, ext } = path.parse(current);
  // Six digits, so that a listing shows the files in order.
  return path.join(dir, `${name}-${String(number).padStart(6, '0')}${ext}`);
}

function numberIn(name: string, stem: string, ext: string): number | undefined {
  if (!name.startsWith(`${stem}-`) || !name.endsWith(ext)) return undefined;
  const digits = name.slice(stem.length + 1, name.length - ext.length);
  return /^\d{6,12}$/.test(digits) ? Number(digits) : undefined;
}

function absentAsEmpty(error: unknown): string[] {
  if (systemCode(error) === 'ENOENT') return [];
  throw error;
}

export interface LogLine {
  /** Without its line feed. */
  readonly bytes: Buffer;
  /** False for bytes at the end of a file that no line feed follows. */
  readonly isWhole: boolean;
}

/** The log as it was at one moment, oldest file first. Close it after use. */
export interface Snapshot {
  readonly files: readonly SnapshotFile[];
  close(): Promise<void>;
}

export interface SnapshotFile {
  readonly path: string;
  lines(): AsyncGenerator<LogLine, void, undefined>;
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly path: string;
  readonly size: number;
  readonly inode: bigint;
}

/** Opens all files of the log as they are now. This and reading the lines throw `file_unreadable`. */
export async function openSnapshot(current: string): Promise<Snapshot> {
  const opened: OpenFile[] = [];
  const close = async (): Promise<void> => {
    for (const { handle } of opened) await handle.close();
  };
  try {
    // The growing file first. If it is rotated before the listing, the listing has it too, with the same inode.
    const growing = await openFile(current);
    if (growing) opened.push(growing);
    const full: OpenFile[] = [];
    for (const { path: file } of await fullFiles(current)) {
      const one = await openFile(file);
      if (!one) continue;
      opened.push(one);
      if (one.inode !== growing?.inode) full.push(one);
    }
    const inOrder = growing ? [...full, growing] : full;
    return { files: inOrder.map((file) => ({ path: file.path, lines: () => linesOf(file) })), close };
  } catch (error) {
    await close();
    throw error instanceof KeyturnError ? error : unreadable(current, systemCode(error));
  }
}

function unreadable(file: string, why: string): KeyturnError {
  return new KeyturnError('file_unreadable', `The audit log ${file} can't be read (${why}).`, {
    hint: 'Keyturn left it as it is. See that the files of the log are files, and yours (0600).',
  });
}

async function openFile(file: string): Promise<OpenFile | undefined> {
  let handle: FileHandle;
  try {
    // O_NONBLOCK: a named pipe in its place must not block us.
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw unreadable(file, systemCode(error));
  }
  const about = await handle.stat({ bigint: true });
  if (about.isFile()) return { handle, path: file, size: Number(about.size), inode: about.ino };
  await handle.close();
  throw unreadable(file, 'it is no file');
}

/** Bytes of a read: large enough that reads are few, small beside the log. */
const chunkSize = 64 * 1024;
/** Bytes of a line. Ours are far shorter; a longer line isn't ours and is read in pieces. */
const maxLineLength = 1024 * 1024;

async function* linesOf({ handle, path: file, size }: OpenFile): AsyncGenerator<LogLine, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  let position = 0;
  while (position < size) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkSize, size - position));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position).catch((error: unknown) => {
      throw unreadable(file, systemCode(error));
    });
    if (bytesRead === 0) break;
    position += bytesRead;
    const data = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
    let start = 0;
    for (let end = data.indexOf(0x0a); end >= 0; end = data.indexOf(0x0a, start)) {
      yield { bytes: data.subarray(start, end), isWhole: true };
      start = end + 1;
    }
    rest = data.subarray(start);
    if (rest.length > maxLineLength) {
      yield { bytes: rest, isWhole: true };
      rest = Buffer.alloc(0);
    }
  }
  if (rest.length > 0) yield { bytes: rest, isWhole: false };
}
