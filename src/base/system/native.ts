/**
 * Native code that lies in the executable itself (Linux). The system loads it from a file only.
 *
 * Invariant: what is loaded has the hash that the build knows. The file has no name by the time that it is written, so
 * that no other program can write it, and nothing of it is left when the process ends.
 */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import { getRawAsset } from 'node:sea';
import { KeyturnError } from '../errors.ts';

/** Throws `internal` where no folder takes a file that may be executed, or where the hash is another one. */
export function loadNative(name: string, sha256: string): unknown {
  const bytes = Buffer.from(getRawAsset(name));
  const folders = [process.env['XDG_RUNTIME_DIR'], tmpdir(), process.env['HOME']];
  let problem: unknown;
  for (const folder of folders) {
    if (!folder || !path.isAbsolute(folder)) continue;
    try {
      return loadFrom(folder, bytes, sha256);
    } catch (error) {
      problem = error;
    }
  }
  throw new KeyturnError('internal', `The native code ${name} in ${process.execPath} can't be loaded.`, {
    hint: 'Compare the checksum of the executable with the published one. Its code also needs a folder in which files may be executed: set TMPDIR.',
    cause: problem,
  });
}

function loadFrom(folder: string, bytes: Buffer, sha256: string): unknown {
  const file = path.join(folder, `.keyturn-${process.pid}-${crypto.randomUUID()}`);
  const fd = fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL, 0o600);
  fs.unlinkSync(file);
  for (let at = 0; at < bytes.length;) at += fs.writeSync(fd, bytes, at, bytes.length - at, at);
  const written = Buffer.alloc(bytes.length);
  fs.readSync(fd, written, 0, written.length, 0);
  if (createHash('sha256').update(written).digest('hex') !== sha256) {
    fs.closeSync(fd);
    throw new Error('its hash is another one');
  }
  const loaded: { exports: unknown } = { exports: {} };
  // The descriptor stays open: the loader knows the code by this path, and must not meet it again for another file.
  process.dlopen(loaded, `/proc/self/fd/${fd}`, constants.dlopen.RTLD_LAZY);
  return loaded.exports;
}
