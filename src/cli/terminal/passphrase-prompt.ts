/**
 * A passphrase or an API key that the user types unseen, or passphrases from standard input.
 *
 * Invariants: it is never shown, and never comes from an argument or the environment, which other
 * programs can read. The terminal is put back as it was, however the asking ends.
 */
import { KeyturnError } from '../../base/errors.ts';
import { UsageError } from './arguments.ts';
import { readStandardInput } from './standard-input.ts';

/** What the keys send in raw mode. */
const keys = { interrupt: '\u0003', end: '\u0004', backspace: /[\b\u007f]/, enter: /[\r\n]/ } as const;

/** So many lines of standard input, without their ends. Throws `invalid_request` where there are fewer. */
export async function linesFromStdin(count: number): Promise<string[]> {
  const lines = (await readStandardInput()).split(/\r?\n/).slice(0, count);
  if (lines.length === count && lines.every((line) => line !== '')) return lines;
  throw new UsageError(
    `--passphrase-stdin wants ${count === 1 ? 'one line' : `${count} lines`} on standard input`,
  );
}

/** Asks once. `option`: what the user can give instead. Throws `invalid_request` where standard input is no terminal. */
export async function askUnseen(
  question: string,
  what = 'A passphrase',
  option = '--passphrase-stdin',
): Promise<string> {
  const { stdin } = process;
  if (!stdin.isTTY) {
    throw new KeyturnError('invalid_request', `${what} is asked for on the terminal, and there is none.`, {
      hint: `Give it on standard input with ${option}.`,
    });
  }
  // Before the question: somebody who types at once must not see an echo.
  stdin.setRawMode(true);
  process.stderr.write(`keyturn: ${question}: `);
  stdin.setEncoding('utf8').resume();
  try {
    return await readKeystrokes();
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    process.stderr.write('\n');
  }
}

/** Asks twice, until both are the same. */
export async function choosePassphrase(question: string): Promise<string> {
  for (;;) {
    const first = await askUnseen(question);
    if ((await askUnseen('once more')) === first) return first;
    process.stderr.write('keyturn: they differ; try again.\n');
  }
}

/** The keys up to Enter, with backspace taken into account. */
async function readKeystrokes(): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let letters: string[] = [];
  const onData = (keystrokes: string): void => {
    for (const key of keystrokes) {
      if (key === keys.interrupt || (key === keys.end && letters.length === 0)) {
        reject(new KeyturnError('interrupted', 'The question was not answered.'));
      } else if (keys.enter.test(key)) resolve(letters.join(''));
      else if (keys.backspace.test(key)) letters = letters.slice(0, -1);
      else letters.push(key);
    }
  };
  process.stdin.on('data', onData);
  return promise.finally(() => process.stdin.off('data', onData));
}
