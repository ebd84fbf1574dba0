/**
 * The process that asks the person and stays when the command that needed the answer is gone: the client gave that
 * command only seconds.
 *
 * Invariants: one for each entry, by the kernel's lock. It ends with the answer, with the broker, and after ten minutes at
 * the latest. It starts no broker, reads and prints nothing, and keeps no token.
 */
import { exitCodes, KeyturnError, reasonOf } from '../../base/errors.ts';
import { homePaths } from '../../base/paths.ts';
import { connectAsOwner } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';
import type { Asked } from './asked.ts';
import { AskingFiles } from './asking-files.ts';

/** Milliseconds: as long as a card stays. */
const maxAsking = 600_000;

/** Asks, and resolves with the exit code of the process. */
export async function askInBackground(asked: Asked, max = maxAsking): Promise<number> {
  const files = new AskingFiles(homePaths(), asked);
  const release = await files.tryLock();
  // Another process of this entry asks already.
  if (!release) return exitCodes.ok;
  files.clear();
  const connection = await connectAsOwner();
  const late = setTimeout(() => connection.close(), max);
  try {
    await ask(connection, asked, max);
  } catch (error) {
    note(files, error);
  } finally {
    clearTimeout(late);
    connection.close();
  }
  release();
  return exitCodes.ok;
}

/** Without `getToken`: that one would look for the next broker where this one ends. */
async function ask(connection: Connection, { params }: Asked, max: number): Promise<void> {
  await connection.request('token.get', {
    ...params,
    interaction: 'allow',
    timeout: Math.ceil(max / 1000),
  });
}

/** What the waiting command says. A broker that ended says nothing about the question. */
function note(files: AskingFiles, error: unknown): void {
  if (!(error instanceof KeyturnError) || reasonOf(error) === 'broker_unreachable') return;
  const { reason, message, hint, rule } = error;
  files.write({
    refusal: {
      reason,
      message,
      ...(hint === undefined ? {} : { hint }),
      ...(rule === undefined ? {} : { rule }),
    },
  });
}
