/**
 * Native code that is in the executable itself. The system loads it from a file only.
 *
 * Invariant: what is loaded has the hash that the build knows. On Linux the file loses its name before it is
 * written, so that no other program can write it, and nothing of it is left when the process ends. Windows deletes no
 * code that runs: there all processes share one file in a folder of this user's, with its hash in its name.
 */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getRawAsset } from 'node:sea';
import { KeyturnError } from '../errors.ts';

/** Throws `internal` where no folder takes a file that may be executed, or where the hash is another one. */
export function loadNative(name: string, sha256: string): unknown {
  const bytes = Buffer.from(getRawAsset(name));
  const isWindows = process.platform === 'win32';
  const folders = isWindows
    ? [process.env['LOCALAPPDATA']]
    : [process.env['XDG_RUNTIME_DIR'], tmpdir(), process.env['HOME']];
  let problem: unknown;
  for (const folder of folders) {
    if (!folder || !path.isAbsolute(folder)) continue;
    try {
      return isWindows ? loadKept(folder, name, bytes, sha256) : loadFrom(folder, bytes, sha256);
    } catch (error) {
      problem = error;
    }
  }
  throw new KeyturnError('internal', `The native code ${name} in ${process.execPath} can't be loaded.`, {
    hint: `Compare the checksum of the executable with the published one. Its code also needs a folder in which files may be executed: set ${isWindows ? 'LOCALAPPDATA' : 'TMPDIR'}.`,
    cause: problem,
  });
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

function loadFrom(folder: string, bytes: Buffer, sha256: string): unknown {
  const file = path.join(folder, `.keyturn-${process.pid}-${crypto.randomUUID()}`);
  const fd = fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL, 0o600);
  fs.unlinkSync(file);
  for (let at = 0; at < bytes.length;) at += fs.writeSync(fd, bytes, at, bytes.length - at, at);
  const written = Buffer.alloc(bytes.length);
  fs.readSync(fd, written, 0, written.length, 0);
  if (hashOf(written) !== sha256) {
    fs.closeSync(fd);
    throw new Error('its hash is another one');
  }
  // The descriptor stays open: the loader knows the code by this path, and must not meet it again for another file.
  return load(`/proc/self/fd/${fd}`);
}

/** Windows: from a file that stays, and that no program can write while the code is loaded. */
function loadKept(folder: string, name: string, bytes: Buffer, sha256: string): unknown {
  const kept = path.join(folder, 'Keyturn', 'native');
  const file = path.join(kept, `${sha256}-${name}`);
  if (hashOfFile(file) !== sha256) {
    fs.mkdirSync(kept, { recursive: true });
    putInPlace(file, bytes);
  }
  if (hashOfFile(file) !== sha256) throw new Error('its hash is another one');
  return load(file);
}

/** Another process may do the same, and load its file: then Windows refuses ours. */
function putInPlace(file: string, bytes: Buffer): void {
  const fresh = `${file}.${crypto.randomUUID()}`;
  fs.writeFileSync(fresh, bytes, { flag: 'wx' });
  try {
    fs.renameSync(fresh, file);
  } catch (error) {
    fs.unlinkSync(fresh);
    if (!fs.existsSync(file)) throw error;
  }
}

function hashOfFile(file: string): string | undefined {
  return fs.existsSync(file) ? hashOf(fs.readFileSync(file)) : undefined;
}

function load(file: string): unknown {
  const loaded: { exports: unknown } = { exports: {} };
  process.dlopen(loaded, file);
  return loaded.exports;
}
