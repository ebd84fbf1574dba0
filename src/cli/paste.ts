/**
 * The address that a browser elsewhere ended at, from standard input to the sign-in that waits.
 *
 * Invariant: the address holds a code: it is passed on and never printed. A wrong one is refused and
 * the next line is tried, so that a slip of the mouse costs nothing.
 */
import { createInterface } from 'node:readline';
import type { Connection } from '../client/connection.ts';
import { call } from './command.ts';
import { refuse, say } from './output.ts';

export async function pasteAddress(connection: Connection, id: string): Promise<void> {
  say('keyturn: when the browser shows an address that it cannot open, paste that whole address here:');
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === '') continue;
    try {
      await call(connection, 'login.answer', { id, redirect: line });
      return;
    } catch (error) {
      refuse(error);
    }
  }
}
