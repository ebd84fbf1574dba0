/**
 * Folders that only their user may enter (0700): makes and checks them, and tells which file systems lie in memory.
 *
 * Invariant: the mode of an existing folder is never changed. A folder with another mode or owner is refused.
 */
import type { BigIntStats } from 'node:fs';
import * as fs from 'node:fs';
import path from 'node:path';
import { KeyturnError, quoted, Unreachable } from '../errors.ts';
import { checkPrivate, socketRule } from './private-check.ts';
import { systemCode } from '../system-error.ts';

/** Makes a folder (0700) if there is none, and checks it. Throws `file_unreadable`, `socket_unsafe`. */
export function prepareFolder(folder: string): void {
  if (!isTaken(folder)) refuseOthersFolder(folder);
  try {
    makeFolder(folder);
  } catch (error) {
    const code = systemCode(error);
    throw new KeyturnError('file_unreadable', `the folder ${quoted(folder)} can't be made (${code})`, {
      hint: hintAboutFolder[code] ?? 'Set KEYTURN_HOME to a folder that you may write to.',
      cause: error,
    });
  }
  checkFolder(folder);
}

const noRoom = 'The disk has no room for another file. Make room, then try again.';
const hintAboutFolder: Readonly<Record<string, string>> = {
  ENOSPC: noRoom,
  EDQUOT: noRoom,
  ENOTDIR: 'A part of its path is a file, not a folder: set KEYTURN_HOME to a folder.',
};

/**
 * Makes a folder (0700) and the missing ones above it. Leaves what is there already as it is, of any kind. Throws the
 * system's error. `recursive` of Node's own `mkdir` never returns where the system answers ENOENT to every attempt,
 * as below /proc.
 */
export function makeFolder(folder: string): void {
  try {
    makeOne(folder);
  } catch (error) {
    const above = path.dirname(folder);
    if (systemCode(error) !== 'ENOENT' || above === folder) throw error;
    makeFolder(above);
    makeOne(folder);
  }
}

/** This path, or the first one with a number where nothing is. One that can't be looked at counts as nothing. */
export function freePath(wanted: string): string {
  for (let number = 2, free = wanted; ; number += 1, free = `${wanted}-${number}`)
    if (!isTaken(free)) return free;
}

function isTaken(name: string): boolean {
  try {
    return fs.lstatSync(name, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // Another number would change nothing: the user of the path gets the system's refusal.
    return false;
  }
}

/**
 * Root may write anywhere. What it made in another person's home folder, that person could not use: `sudo keyturn`
 * keeps HOME on some systems. Throws `socket_unsafe`.
 */
function refuseOthersFolder(folder: string): void {
  const above = existingAbove(folder);
  const owner = above === undefined ? undefined : fs.statSync(above, { throwIfNoEntry: false })?.uid;
  if (process.getuid?.() !== 0 || owner === undefined || owner === 0) return;
  throw new KeyturnError(
    'socket_unsafe',
    `${quoted(above ?? folder)} belongs to user ${owner}, and you are root`,
    {
      rule: 'Each user has a home of Keyturn of their own',
      hint: 'Run the command as that user, without sudo; or set HOME (or KEYTURN_HOME) to a folder of root.',
    },
  );
}

function existingAbove(folder: string): string | undefined {
  const above = path.dirname(folder);
  if (above === folder) return undefined;
  return isTaken(above) ? above : existingAbove(above);
}

function makeOne(folder: string): void {
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}

/** Throws `broker_unreachable` if there is no such folder, `socket_unsafe` if it isn't private. */
export function checkFolder(folder: string): void {
  const found = lookAt(folder);
  if (!found) throw notThere(folder);
  checkPrivate(found, folder, 'socketFolder');
}

/** What is at this path, links not followed; undefined if nothing. Throws `socket_unsafe`, `broker_unreachable`. */
export function lookAt(name: string): BigIntStats | undefined {
  try {
    return fs.lstatSync(name, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (systemCode(error) === 'ENOTDIR') throw belowFile(name);
    throw new KeyturnError('socket_unsafe', `${quoted(name)} can't be looked at`, {
      rule: socketRule,
      cause: error,
    });
  }
}

export const startHint =
  'Start the broker with `keyturn broker run`, or use any keyturn command: it starts one.';

export function notThere(name: string): Unreachable {
  return new Unreachable('broker_unreachable', `no broker has made ${quoted(name)} yet`, { hint: startHint });
}

/** For a path that leads through a file: no broker can be there. */
export function belowFile(name: string): Unreachable {
  return new Unreachable('broker_unreachable', `${quoted(name)} can't be: a part of its path is a file`, {
    hint: 'Set KEYTURN_HOME to a folder.',
  });
}

/** <linux/magic.h>: tmpfs and ramfs. */
const inMemory: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

/** True for a file system (by `statfs`, on Linux) that keeps its files in memory and on no disk. */
export function liesInMemory({ type }: { readonly type: number }): boolean {
  return inMemory.has(type);
}
