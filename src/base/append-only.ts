/**
 * A file that only grows: its acknowledged end, and what happens to the bytes behind it.
 *
 * Invariants: an append resolves only when its bytes would survive a power cut. After one that failed the file
 * is cut back to its acknowledged end before anything is added. A torn tail is kept in a file beside it, durably,
 * before it is cut off. The caller lets one call run at a time; each throws the system's error.
 *
 * The audit log, the sealed file and the record log all append by this module. Each finds its torn tail by itself, since
 * only its own format tells a torn line or record from a damaged one. The audit log keeps a torn line where it is,
 * because its next row speaks of it.
 */
import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { newDraft, syncFolder } from './private-file.ts';

export class AppendOnlyEnd {
  #size: number;
  /** A failed append may have left bytes after the end. */
  #hasLeftovers = false;

  /** `size`: bytes of the file that count. */
  constructor(size: number) {
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  /** Whether a file of this size can be the one that we left: anything else was changed by somebody else. */
  isAsLeft(size: number): boolean {
    return size === this.#size || (this.#hasLeftovers && size > this.#size);
  }

  /** `check` looks at what was written, before it counts. */
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
      // At once, if it can be done: the next start would take a whole record for an acknowledged one.
      await this.cutLeftovers(handle).catch(() => undefined);
      throw error;
    }
    this.#size += bytes.length;
    this.#hasLeftovers = false;
  }

  /** Does nothing where no append failed. */
  async cutLeftovers(handle: FileHandle): Promise<void> {
    if (!this.#hasLeftovers) return;
    await cutBack(handle, this.#size);
    this.#hasLeftovers = false;
  }
}

/** Keeps the torn tail in a file of its own, then cuts it off: `end` bytes stay. Resolves to the new file's path. */
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

/** True for the name of a torn tail that was kept beside the file of this name, and for its draft. */
export function isTornTailOf(name: string, file: string): boolean {
  const start = `${file}.torn-`;
  return name.startsWith(start) && /^[0-9a-f]{8}(\.new)?$/.test(name.slice(start.length));
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
