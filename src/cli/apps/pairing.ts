/**
 * The pairing of an entry, and the memory of a refusal.
 *
 * Invariant: the processes of an entry show one ticket, so they share one question and one key; a process that starts
 * later finds the answer. An entry that the user denied asks no more by itself; a user who starts
 * `keyturn connect` begins again.
 */
import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyturnError, quoted, reasonOf, shellOption, shellWord } from '../../base/errors.ts';
import {
  makeFileAtOnce,
  readPrivate,
  replaceFileAtOnce,
  unwritableFile,
} from '../../base/private/private-file.ts';
import { makeFolder } from '../../base/private/private-folder.ts';
import { locate } from '../../client/connect.ts';
import { appKeyFile } from '../../client/app-key-file.ts';
import { pair } from '../../client/pair.ts';
import { forwardedSocket } from '../../ipc/wire/forwarded.ts';
import { requireBroker } from '../broker/connection.ts';

export interface ConnectedEntry {
  readonly name: string;
  /** Of the MCP server. */
  readonly resource: string;
  readonly account?: string | undefined;
}

/** What gives an entry its access at a terminal. */
export function connectCommand({ name, resource, account }: ConnectedEntry): string {
  const option = account === undefined ? [] : [shellOption('account', account)];
  return ['keyturn connect', shellWord(resource), '--as', shellWord(name), ...option].join(' ');
}

/** Milliseconds. */
const retryTime = 500;

const isThere = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false }) !== undefined;

export const isPaired = (name: string): boolean => isThere(appKeyFile(locate().paths, name));

export const wasRefused = (name: string): boolean => isThere(besideKey(name, '.refused'));

export function forgetRefusal(name: string): void {
  rmSync(besideKey(name, '.refused'), { force: true });
}

/** Of this entry, in the folder of the keys. */
function besideKey(name: string, ending: string): string {
  return appKeyFile(locate().paths, name).replace(/\.key$/, ending);
}

/**
 * Asks until the user answers or the signal aborts; the question then stays. `onCode` may be called with several codes.
 * Throws what `pair` throws.
 */
export async function pairEntry(
  entry: ConnectedEntry,
  onCode: (code: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { name } = entry;
  const shown = new Set<string>();
  const showNew = (code: string): void => {
    if (!shown.has(code)) onCode(code);
    shown.add(code);
  };
  while (!isPaired(name)) {
    const ticket = createHash('sha256')
      .update(await ticketOf(name))
      .digest('base64url');
    try {
      await pair({ name, ticket, onCode: showNew, signal });
    } catch (error) {
      signal.throwIfAborted();
      // Another process of the entry was faster.
      if (!isPaired(name)) await afterRefusal(entry, error, signal);
    }
  }
  forgetTicket(name);
}

export function forgetTicket(name: string): void {
  rmSync(besideKey(name, '.ticket'), { force: true });
}

/** Made by the first process, and whole once it is there. */
async function ticketOf(name: string): Promise<Buffer> {
  const file = besideKey(name, '.ticket');
  for (;;) {
    const ticket = await readPrivate(file);
    if (ticket?.length === 64) return ticket;
    forgetTicket(name);
    try {
      makeFolder(path.dirname(file));
      makeFileAtOnce(file, randomBytes(32).toString('hex'));
    } catch (error) {
      throw unwritableFile(file, error);
    }
  }
}

/** Resolves where it may be asked again. */
async function afterRefusal(entry: ConnectedEntry, error: unknown, signal: AbortSignal): Promise<void> {
  const reason = reasonOf(error);
  if (reason === 'pairing_denied') throw rememberRefusal(entry);
  // A broker elsewhere calls its app by another name, which only it knows.
  if (reason === 'conflict' && forwardedSocket(process.env) === undefined) throw nameTaken(entry);
  // A place may be free any moment.
  if (reason === 'rate_limited')
    return sleep(retryTime, undefined, { signal }).catch(() => signal.throwIfAborted());
  const isBrokersEnd = reason === 'broker_unreachable' || reason === 'broker_stopping';
  // Another start begins again, unless the same broker may come back, or the vault that keeps the answer from being used.
  if (!isBrokersEnd && reason !== 'locked' && reason !== 'vault_unavailable') forgetTicket(entry.name);
  if (!isBrokersEnd || forwardedSocket(process.env) !== undefined) throw error;
  await requireBroker();
}

export function rememberRefusal(entry: ConnectedEntry): KeyturnError {
  const { name } = entry;
  // In this order: no process asks again in between.
  replaceFileAtOnce(besideKey(name, '.refused'), '');
  forgetTicket(name);
  return refusedBefore(entry);
}

function nameTaken(entry: ConnectedEntry): KeyturnError {
  const { name } = entry;
  const again = `keyturn app remove ${shellWord(name)}; then ${connectCommand(entry)}`;
  return new KeyturnError('conflict', `An app is paired as ${quoted(name)} or a similar name already.`, {
    hint:
      name === 'cli'
        ? 'It is the command line. Choose another name (--as).'
        : `Choose another name (--as). If it is this entry, and its app key was deleted, pair it again, with new permissions: ${again}`,
  });
}

export function refusedBefore(entry: ConnectedEntry): KeyturnError {
  return new KeyturnError(
    'pairing_denied',
    `You denied pairing with ${quoted(entry.name)}, and that is remembered.`,
    { hint: `If you changed your mind, run in a terminal: ${connectCommand(entry)}` },
  );
}
