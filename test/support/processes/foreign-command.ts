/**
 * The `keyturn` command for the programs of the public suite, which also send requests of their own.
 *
 * Invariant: their process goes on meanwhile. One that stood still would not notice that the server closed a connection
 * after five idle seconds, and would send its next request over it.
 */
import { execFile } from 'node:child_process';
import process from 'node:process';

interface Ended {
  /** A name where the command could not be started. */
  readonly status: number | string | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export function keyturn(bin: string, ...words: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [bin, ...words], (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

/** What it prints. Rejects where it fails. */
export async function printedBy(bin: string, ...words: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await keyturn(bin, ...words);
  if (status !== 0) throw new Error(`keyturn ${words.join(' ')}: ${status}\n${stderr}`);
  return stdout.trim();
}
