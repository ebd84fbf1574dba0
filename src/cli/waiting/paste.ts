/**
 * The address that a browser elsewhere ended at, from standard input to the sign-in that waits.
 *
 * Invariant: the address holds a code: it is passed on and never printed. A wrong one is refused and
 * the next line is tried, so that a slip of the mouse costs nothing.
 */
import { createInterface } from 'node:readline';
import type { Connection } from '../../client/connection.ts';
import { call } from '../broker/request.ts';
import { refuse, say } from '../terminal/output.ts';

/** Reads lines until one is taken, the input ends, or `signal` aborts: then nobody reads it any more. */
export async function pasteAddress(connection: Connection, id: string, signal: AbortSignal): Promise<void> {
  say('keyturn: when the browser shows an address that it cannot open, paste that whole address here:');
  for await (const line of createInterface({ input: process.stdin, signal })) {
    if (line.trim() === '') continue;
    try {
      await call(connection, 'login.answer', { id, redirect: line.trim() });
      return;
    } catch (error) {
      if (!signal.aborted) refuse(error);
    }
  }
  if (signal.aborted) return;
  // Nothing can come any more: waiting on would only look like a hang.
  say('keyturn: standard input ended before an address of this sign-in came.');
  await call(connection, 'interaction.answer', { id, answer: 'no' });
}
