/** Runs Node where the system refuses bytes beyond a limit, as a full disk does. */
import { execFileSync } from 'node:child_process';

/** `blocks`: how many of 1,024 bytes a file may have. Answers what Node prints with these arguments. */
export function onFullDisk(blocks: number, ...words: readonly string[]): string {
  // `ulimit -f` stands for the full disk: the kernel refuses bytes beyond it, after a part of the write.
  const script = `trap "" XFSZ; ulimit -f ${blocks}; exec "$0" "$@"`;
  return execFileSync('bash', ['-c', script, process.execPath, ...words], { encoding: 'utf8' });
}
