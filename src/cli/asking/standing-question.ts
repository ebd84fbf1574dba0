/**
 * Has the person asked by a process that stays (asker.ts), and waits for the answer for a while.
 *
 * Invariant: commands that wait at the same time for the same share one question. An interrupt withdraws the question
 * that this command raised; the end of the waiting doesn't.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '../../base/abort.ts';
import { exitCodes } from '../../base/errors.ts';
import { locate } from '../../client/connect.ts';
import { pollInterval } from '../../client/takeover.ts';
import { spawnDetached } from '../broker/auto-start.ts';
import type { Asked } from './asked.ts';
import { AskingFiles, refusalIn } from './asking-files.ts';

/** The options of a command that say what is asked, and that it asks in the background. */
function askingWords({ as, params: { resource, scope, account } }: Asked): string[] {
  return [
    resource,
    // One argument each: a value may begin with a dash.
    ...(as === undefined ? [] : [['--as', as].join('=')]),
    ...(scope === undefined ? [] : [['--scope', scope].join('=')]),
    ...(account === undefined ? [] : [['--account', account].join('=')]),
    '--in-background',
  ];
}

/** It asks whom this process would ask: at the far end of a forward that is the broker at its other end. */
function startAsking(asked: Asked, command: readonly string[]): ChildProcess {
  const { KEYTURN_SOCKET: socket } = process.env;
  const further = socket === undefined ? {} : { KEYTURN_SOCKET: socket };
  return spawnDetached([...command, ...askingWords(asked)], 'ignore', further);
}

/** Has the question go on without this process. */
export function leaveQuestion(asked: Asked, command: readonly string[]): void {
  startAsking(asked, command).unref();
}

/**
 * Resolves when the question has ended without a refusal. Throws the refusal, or the signal's reason where
 * the person takes longer.
 */
export async function untilAnswered(
  asked: Asked,
  command: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const files = AskingFiles.of(locate().paths, asked);
  const release = await files.tryLock();
  if (release) {
    release();
    await ended(startAsking(asked, command), signal);
  }
  // Ours may have found another one that was faster.
  await untilFree(files, signal);
  const refusal = refusalIn(await files.read());
  if (refusal) throw refusal;
}

async function ended(child: ChildProcess, signal: AbortSignal): Promise<void> {
  const interrupted = (): void => {
    child.kill();
    process.exit(exitCodes.interrupted);
  };
  process.once('SIGINT', interrupted);
  try {
    await untilAborted(once(child, 'exit'), signal);
  } finally {
    // It stays when this process leaves.
    child.unref();
    process.off('SIGINT', interrupted);
  }
}

/** No event says when a lock changes hands. */
async function untilFree(files: AskingFiles, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const release = await files.tryLock();
    if (release) return release();
    await sleep(pollInterval, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
