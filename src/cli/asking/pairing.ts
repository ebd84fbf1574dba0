/**
 * The pairing of an entry, and the memory of a refusal.
 *
 * Invariant: an entry that the person refused asks no more by itself; a person who starts `keyturn bridge --connect`
 * begins anew. A card that nobody answered is no refusal.
 */
import { lstatSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyturnError, quoted, reasonOf, shellWord } from '../../base/errors.ts';
import { replaceFileAtOnce } from '../../base/private-file.ts';
import { locate } from '../../client/connect.ts';
import { clientKeyFile } from '../../client/key-file.ts';
import { pair } from '../../client/pair.ts';
import { makeFolder } from '../../base/private-folder.ts';

/**
 * Milliseconds: before the broker withdraws the card itself (two minutes). So a refusal in this time is the person's.
 */
const cardTime = 110_000;

export function isPaired(name: string): boolean {
  return lstatSync(clientKeyFile(locate().paths, name), { throwIfNoEntry: false }) !== undefined;
}

export function wasRefused(name: string): boolean {
  return lstatSync(refusalFile(name), { throwIfNoEntry: false }) !== undefined;
}

export function forgetRefusal(name: string): void {
  rmSync(refusalFile(name), { force: true });
}

/** Beside the key that it stands in place of. */
function refusalFile(name: string): string {
  return clientKeyFile(locate().paths, name).replace(/\.key$/, '.refused');
}

/**
 * Asks again, each time under another code, until the person answers or the signal aborts. Throws what `pair` throws.
 */
export async function pairEntry(
  name: string,
  onCode: (code: string) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!isPaired(name)) {
    const card = AbortSignal.timeout(cardTime);
    try {
      await pair({ name, onCode, signal: AbortSignal.any([signal, card]) });
    } catch (error) {
      signal.throwIfAborted();
      if (error !== card.reason) await afterRefusal(name, error, signal);
    }
  }
}

async function afterRefusal(name: string, error: unknown, signal: AbortSignal): Promise<void> {
  if (reasonOf(error) === 'pairing_denied') {
    makeFolder(path.dirname(refusalFile(name)));
    replaceFileAtOnce(refusalFile(name), '');
    throw refusedBefore(name);
  }
  const pause =
    error instanceof KeyturnError && reasonOf(error) === 'rate_limited' ? error.retryAfter : undefined;
  if (pause === undefined) throw error;
  await sleep(pause * 1000, undefined, { signal }).catch(() => signal.throwIfAborted());
}

export function refusedBefore(name: string): KeyturnError {
  return new KeyturnError('pairing_denied', `You refused to pair ${quoted(name)}, and that is remembered.`, {
    hint: `If you changed your mind, run in a terminal: keyturn bridge --connect URL --as ${shellWord(name)}`,
  });
}
