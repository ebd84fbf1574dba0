/**
 * Runs a command that the user configured, and returns what it prints as a secret.
 *
 * Invariant: the command gets no shell and nothing on its standard input. Its own words may hold the secret, so a caller
 * repeats nothing of the error but a code or a signal.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

interface Bounds {
  /** Bytes. */
  readonly maxLength: number;
  /** Milliseconds. */
  readonly timeout: number;
}

/** Program and arguments: split at spaces, as the browser's command is. */
export const commandWords = (command: string): string[] => command.trim().split(/\s+/);

/** Rejects where the command fails, prints more than the bound, or takes too long. */
export async function readSecretFromCommand(
  command: string,
  env: NodeJS.ProcessEnv,
  bounds: Bounds,
): Promise<string> {
  const [program = '', ...words] = commandWords(command);
  const running = promisify(execFile)(program, words, {
    env,
    encoding: 'utf8',
    maxBuffer: bounds.maxLength,
    timeout: bounds.timeout,
    killSignal: 'SIGKILL',
  });
  running.child.stdin?.end();
  return (await running).stdout;
}
