/** A copy of an executable in which one byte of its native code is another one. */
import { closeSync, copyFileSync, openSync, readFileSync, writeSync } from 'node:fs';

/** `code`: what lies in the executable as it is. */
export function damageExecutable(executable: string, copy: string, code: Buffer): void {
  copyFileSync(executable, copy);
  const middle = code.length >> 1;
  const at = readFileSync(copy).indexOf(code.subarray(middle, middle + 4096));
  if (at < 0) throw new Error(`${executable} does not hold this code.`);
  const fd = openSync(copy, 'r+');
  writeSync(fd, Buffer.from([(code[middle] ?? 0) ^ 1]), 0, 1, at);
  closeSync(fd);
}
