/**
 * Key files: who an app is, as JSON {appId, key, brokerId}, mode 0600.
 *
 * Invariant: a key file that others can read is refused, never repaired silently; one that exists is
 * never overwritten; "absent" and "unreadable" are different answers. No error holds any of its text.
 */
import * as fs from 'node:fs';
import path from 'node:path';
import { KeyturnError, quoted } from '../base/errors.ts';
import { belowFile, makeFolder } from '../base/private/private-folder.ts';
import { requireAppName } from '../ipc/wire/app-name.ts';
import { type Identity, isIdentity } from '../ipc/wire/handshake-messages.ts';
import { parseJson } from '../base/text/json.ts';
import type { HomePaths } from '../base/paths.ts';
import { checkPrivate } from '../base/private/private-check.ts';
import { makeFileAtOnce } from '../base/private/private-file.ts';
import { systemCode } from '../base/system-error.ts';

/** Bytes of a key file: an identity takes 150. */
const maxAppKeyFileLength = 4096;

/** Where the key of the app `name` is. Throws `invalid_request` as `requireAppName`. */
export function appKeyFile(paths: HomePaths, name: string): string {
  requireAppName(name);
  return path.join(paths.config, 'apps', `${name}.key`);
}

/**
 * Throws `unpaired` where there is none, `file_unreadable` where it can't be used as it is, and
 * `broker_unreachable` where the home can't be a home.
 */
export function readAppKeyFile(file: string): Identity {
  const fd = open(file);
  try {
    const found = fs.fstatSync(fd, { bigint: true });
    checkPrivate(found, file, 'file');
    const identity = found.size > maxAppKeyFileLength ? undefined : parseJson(fs.readFileSync(fd, 'utf8'));
    if (isIdentity(identity)) return identity;
  } finally {
    fs.closeSync(fd);
  }
  throw new KeyturnError('file_unreadable', `${quoted(file)} does not hold a key`, {
    hint:
      path.basename(file) === 'owner.key'
        ? 'It was kept. Restore it, or move it away: the next start of the broker makes a new one.'
        : 'It was kept. Restore it, or move it away and pair the app again.',
  });
}

function open(file: string): number {
  try {
    return fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') {
      throw new KeyturnError('unpaired', `there is no key at ${quoted(file)}`, {
        hint: 'Start the pairing in this app. It shows six digits: compare them with `keyturn request list`, then answer with `keyturn request approve ID`, or in the window of the app.',
      });
    }
    if (systemCode(error) === 'ENOTDIR') throw belowFile(file);
    throw new KeyturnError('file_unreadable', `${quoted(file)} can't be opened`, {
      hint: 'A key file is your own plain file, no symbolic link, with mode 0600. It was kept.',
      cause: error,
    });
  }
}

/** Throws `conflict` where the file exists; what `readAppKeyFile` throws where that can't be told. */
export function refuseExisting(file: string): void {
  let found: fs.Stats | undefined;
  try {
    found = fs.lstatSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if (systemCode(error) === 'ENOTDIR') throw belowFile(file);
    throw new KeyturnError('file_unreadable', `${quoted(file)} can't be looked at`, { cause: error });
  }
  if (found) throw exists(file);
}

/** Writes a new key file, durably. Throws `conflict` where one exists, `file_unreadable` on failure. */
export function writeAppKeyFile(file: string, identity: Identity): void {
  const { appId, key, brokerId } = identity;
  let isNew: boolean;
  try {
    makeFolder(path.dirname(file));
    // Whole at once: other processes of the program look for it.
    isNew = makeFileAtOnce(file, `${JSON.stringify({ appId, key, brokerId })}\n`);
  } catch (error) {
    throw new KeyturnError('file_unreadable', `${quoted(file)} can't be written`, { cause: error });
  }
  if (!isNew) throw exists(file);
}

function exists(file: string): KeyturnError {
  return new KeyturnError('conflict', `there is a key at ${quoted(file)} already`, {
    hint: 'Use it, or remove the file first if the pairing is to be made again.',
  });
}
