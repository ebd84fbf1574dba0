/**
 * The process that asks the person and stays when the command that needed the answer is gone: the client gave that
 * command only seconds.
 *
 * Invariants: one for each question, by the kernel's lock. It ends with the answer, with the broker, and after ten
 * minutes at the latest. It starts no broker, reads and prints nothing, and keeps no token.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodes, KeyturnError } from '../../base/errors.ts';
import { connect, connectAsOwner, locate } from '../../client/connect.ts';
import { pollInterval } from '../../client/takeover.ts';
import type { Asked } from './asked.ts';
import { AskingFiles } from './asking-files.ts';
import { isPaired, pairEntry, refusedBefore, wasRefused } from './pairing.ts';

/** Milliseconds: as long as a card stays. */
export const maxAsking = 600_000;

/** Others who wait look at the lock for a moment: it counts as taken only after so many tries. */
const lockTries = 20;

/** Asks, and resolves with the exit code of the process. */
export async function askInBackground(asked: Asked, max = maxAsking): Promise<number> {
  const files = AskingFiles.of(locate().paths, asked);
  const release = await lock(files);
  // Another process asks the same already.
  if (!release) return exitCodes.ok;
  files.clear();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), max);
  try {
    await askPerson(asked, (code) => files.write({ code }), late.signal, max);
    files.clear();
  } catch (error) {
    if (late.signal.aborted || !(error instanceof KeyturnError)) files.clear();
    else note(files, error);
  } finally {
    clearTimeout(timer);
    release();
  }
  return exitCodes.ok;
}

async function lock(files: AskingFiles): Promise<(() => void) | undefined> {
  for (let tries = 0; tries < lockTries; tries += 1) {
    const release = await files.tryLock();
    if (release) return release;
    await sleep(pollInterval);
  }
  return undefined;
}

/** Pairs where that is missing, then has the broker ask for the permission and sign in. `max` in milliseconds. */
export async function askPerson(
  { as, params }: Asked,
  onCode: (code: string) => void,
  signal: AbortSignal,
  max = maxAsking,
): Promise<void> {
  if (as !== undefined) await pairOnce(as, onCode, signal);
  const connection = as === undefined ? await connectAsOwner() : await connect({ name: as });
  const end = (): void => connection.close();
  signal.addEventListener('abort', end, { once: true });
  try {
    // Without `getToken`: that one would look for the next broker where this one ends.
    await connection.request('token.get', {
      ...params,
      interaction: 'allow',
      timeout: Math.ceil(max / 1000),
    });
  } finally {
    signal.removeEventListener('abort', end);
    connection.close();
  }
}

/** A program pairs once, whatever its processes ask for after that: the others show the code of the one that pairs. */
async function pairOnce(name: string, onCode: (code: string) => void, signal: AbortSignal): Promise<void> {
  const files = AskingFiles.ofPairing(locate().paths, name);
  let shown: string | undefined;
  while (!isPaired(name)) {
    signal.throwIfAborted();
    if (wasRefused(name)) throw refusedBefore(name);
    const release = await files.tryLock();
    if (release) {
      const tell = (code: string): void => {
        files.write({ code });
        onCode(code);
      };
      await pairEntry(name, tell, signal).finally(() => {
        files.clear();
        release();
      });
    } else {
      const { code } = await files.read();
      if (code !== undefined && code !== shown) onCode(code);
      shown = code;
      await sleep(pollInterval);
    }
  }
}

/** Says nothing about the question: one that still waits asks the next broker. */
const endedUnderIt = new KeyturnError(
  'broker_unreachable',
  'The broker ended before the question was answered.',
  { hint: 'Start this again, and answer then.' },
);

/** What the waiting command says. */
function note(files: AskingFiles, error: KeyturnError): void {
  const isBrokersEnd = error.reason === 'broker_unreachable' || error.reason === 'broker_stopping';
  const { reason, message, hint, rule } = isBrokersEnd ? endedUnderIt : error;
  files.write({
    refusal: {
      reason,
      message,
      hint,
      rule,
    },
  });
}
