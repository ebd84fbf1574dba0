/**
 * Reading and replacing the files of other programs.
 *
 * Invariant: a file is replaced in one step, with the mode that it had, and only if it still says what was read. A
 * symbolic link stays: the file behind it is the one that is replaced. Only a file that can't be replaced, such as one
 * that is mounted alone into a container, is written in place.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { KeyturnError } from '../base/errors.ts';
import { syncFolder } from '../base/private/private-file.ts';
import { systemCode } from '../base/system-error.ts';

/** Bytes: a client that keeps its history in the same file reaches some megabytes. */
const maxSize = 64 * 1024 * 1024;

/** Of a project, whose file may come from a stranger: an entry is read in a time that grows by the square of its size. */
const maxProjectSize = 64 * 1024;

export interface FoundFile {
  /** Behind symbolic links. */
  readonly real: string;
  readonly bytes: Buffer;
}

/**
 * `project`: the folder that the file belongs to. Its links may come from a stranger, so they must not lead out of it.
 * Undefined where there is none. Throws `file_unreadable`.
 */
export async function readConfig(file: string, project?: string): Promise<FoundFile | undefined> {
  try {
    const real = await realpath(file);
    const isOutside = project !== undefined && !real.startsWith(path.join(await realpath(project), path.sep));
    if (isOutside) throw unusable(file, `it leads out of its folder, to ${real}`);
    const about = await stat(real);
    const { size, uid } = about;
    const isOwn = process.getuid === undefined || uid === process.getuid();
    if (!isOwn) throw unusable(file, 'it belongs to another user');
    // To read a pipe would wait for its writer.
    if (!about.isFile()) throw unusable(file, 'it is no regular file');
    const most = project === undefined ? maxSize : maxProjectSize;
    if (size > most) throw unusable(file, `it is larger than ${most / 1024} KiB`);
    return { real, bytes: await readFile(real) };
  } catch (error) {
    if (error instanceof KeyturnError) throw error;
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw unusable(file, code);
  }
}

/** The text of a file, with its byte order mark. Undefined where it isn't UTF-8. */
export function textOf(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** False where the file says something else by now; then nothing was written. Throws `file_unreadable`. */
export async function replaceConfig(before: FoundFile, bytes: Buffer): Promise<boolean> {
  const { real } = before;
  const draft = `${real}.keyturn-${randomBytes(6).toString('hex')}`;
  try {
    const { mode } = await stat(real);
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.chmod(mode & 0o7777);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (!(await readFile(real)).equals(before.bytes)) return false;
    await rename(draft, real);
    await syncFolder(path.dirname(real));
    return true;
  } catch (error) {
    if (fixed.has(systemCode(error))) return await writeInPlace(before, bytes);
    throw unusable(real, systemCode(error));
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
  }
}

/** The folder takes no other file, or the file is a mount: the file itself may still be writable. */
const fixed: ReadonlySet<string> = new Set(['EBUSY', 'EACCES', 'EPERM', 'EROFS', 'EXDEV']);

async function writeInPlace({ real, bytes: old }: FoundFile, bytes: Buffer): Promise<boolean> {
  try {
    const handle = await open(real, 'r+');
    try {
      if (!(await handle.readFile()).equals(old)) return false;
      await handle.write(bytes, 0, bytes.length, 0);
      await handle.truncate(bytes.length);
      await handle.sync();
      return true;
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw unusable(real, systemCode(error));
  }
}

const marks = ['.git', '.hg', '.jj', '.svn'];

/** Whether a folder above the file is a working copy of a version control system. */
export function isVersioned(file: string): boolean {
  const folder = path.dirname(file);
  if (marks.some((name) => existsSync(path.join(folder, name)))) return true;
  return folder !== file && path.dirname(folder) !== folder && isVersioned(folder);
}

function unusable(file: string, what: string): KeyturnError {
  return new KeyturnError('file_unreadable', `${file} can't be changed: ${what}.`, {
    rule: 'A file that Keyturn can’t read and replace whole stays as it is',
    hint: 'Fix the file, and run the command again.',
  });
}
