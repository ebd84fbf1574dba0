/**
 * What a command reads on standard input: all of it, or a user's answer to one question.
 *
 * Invariant: no character is lost. A text decoder would drop a byte order mark at the beginning, and with it a part
 * of a passphrase. An interrupt at a question is one of the command.
 */
import { KeyturnError } from '../../base/errors.ts';
import { UsageError } from './arguments.ts';

/** What reads is loaded only here: most commands read nothing, and a cold process would wait for it. */
export async function readStandardInput(): Promise<string> {
  const { buffer } = await import('node:stream/consumers');
  return (await buffer(process.stdin)).toString('utf8');
}

/** Somebody can read a question and answer it. */
export function isAtTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** The line that the user types. Rejects with an AbortError once the signal aborts. */
export async function answerTo(question: string, signal?: AbortSignal): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // readline takes Ctrl-C for itself.
  lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return (await lines.question(question, signal ? { signal } : {})).trim();
  } finally {
    lines.close();
  }
}

interface Irreversible {
  /** Begins the refusal without a terminal. */
  readonly asker: string;
  readonly hint: string;
  readonly question: () => Promise<string>;
  /** What the refusal says where something else was typed. */
  readonly nothing: string;
}

/** Asks before what can't be undone. Throws `invalid_request` without a terminal, `interrupted` for a no. */
export async function requireYes({ asker, hint, question, nothing }: Irreversible): Promise<void> {
  if (!isAtTerminal())
    throw new KeyturnError('invalid_request', `${asker} asks first, and this is no terminal.`, { hint });
  if ((await answerTo(`${await question()}Type 'yes' to continue: `)) === 'yes') return;
  throw new KeyturnError('interrupted', `${nothing}: you did not type yes.`);
}

/** Any answer but yes is no. */
export async function confirmed(question: string, signal?: AbortSignal): Promise<boolean> {
  return /^y(es)?$/i.test(await answerTo(`${question}[y/N] `, signal));
}

/** Of `--client-secret-stdin`. */
export async function secretFromStdin(): Promise<string> {
  const secret = (await readStandardInput()).replace(/\r?\n$/, '');
  if (secret === '') throw new UsageError('--client-secret-stdin found nothing on standard input');
  return secret;
}
