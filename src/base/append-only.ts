/**
 * A file that only grows: where its acknowledged bytes end, and what happens to bytes after that end.
 *
 * Invariants: an append resolves only when its bytes would survive a power cut. After a failed append the file is cut
 * back to its acknowledged end before anything is added. A torn tail is saved durably in a file of its own before it
 * is cut off. Calls must not overlap; each throws the system's error.
 *
 * The record log uses this module, and finds its own torn tail: only its format tells a torn line from a damaged one.
 */
import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { newDraft, syncFolder } from './private-file.ts';

export class AppendOnlyEnd {
  #size: number;
  /** A failed append may have left bytes after the end. */
  #hasLeftovers = false;

  /** `size`: the acknowledged bytes. */
  constructor(size: number) {
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  /** False for a size which shows that something else changed the file. */
  isAsLeft(size: number): boolean {
    return size === this.#size || (this.#hasLeftovers && size > this.#size);
  }

  /** Adds `bytes`. `check` runs once they are durable; if it rejects, they are cut off again. */
  async append(
    handle: FileHandle,
    bytes: Buffer,
    check: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    await this.cutLeftovers(handle);
    this.#hasLeftovers = true;
    try {
      await writeAll(handle, bytes, this.#size);
      await handle.datasync();
      await check();
    } catch (error) {
      // Cut at once if possible: the next start would take a whole record for an acknowledged one.
      await this.cutLeftovers(handle).catch(() => undefined);
      throw error;
    }
    this.#size += bytes.length;
    this.#hasLeftovers = false;
  }

  /** Cuts off what a failed append left. Does nothing if none failed. */
  async cutLeftovers(handle: FileHandle): Promise<void> {
    if (!this.#hasLeftovers) return;
    await cutBack(handle, this.#size);
    this.#hasLeftovers = false;
  }
}

/** Saves the torn tail in a file of its own, then cuts it off: `end` bytes stay. Resolves to the new file's path. */
export async function cutTornTail(
  file: string,
  handle: FileHandle,
  end: number,
  tail: Buffer,
): Promise<string> {
  const aside = `${file}.torn-${randomBytes(4).toString('hex')}`;
  const draft = await newDraft(aside);
  try {
    await writeAll(draft.handle, tail, 0);
    await draft.publish();
  } finally {
    await draft.discard();
  }
  await syncFolder(path.dirname(file));
  await cutBack(handle, end);
  return aside;
}

/** Writes all of `bytes`; one call to the system may take less. */
export async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

async function cutBack(handle: FileHandle, size: number): Promise<void> {
  await handle.truncate(size);
  await handle.datasync();
}
