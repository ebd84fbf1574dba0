/**
 * Reads a secret from a file that the user named.
 *
 * Invariants: nothing waits for a pipe, and no longer file is read than the bound allows. Links are followed, since a
 * platform puts each new file in place by a link. No refusal holds content of the file.
 */
import { constants, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import type { KeyturnError } from '../errors.ts';
import { systemCode } from '../system-error.ts';

interface Demands {
  /** Bytes. */
  readonly maxLength: number;
  readonly refused: (problem: string) => KeyturnError;
  /** What else must hold of the file. Throws where it doesn't. */
  readonly check?: (found: Stats) => void;
}

export async function readSecretFile(
  file: string,
  { maxLength, refused, check = () => undefined }: Demands,
): Promise<string> {
  // Windows has no such flag.
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(
    (error: unknown) => {
      const code = systemCode(error);
      throw refused(code === 'ENOENT' ? 'it is missing' : `it can't be opened (${code})`);
    },
  );
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw refused('it is not a plain file');
    check(found);
    if (found.size > maxLength) throw refused(`it is longer than ${maxLength} bytes`);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
