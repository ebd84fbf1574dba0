/**
 * A hostile program, run as a process of its own: the broker tells programs apart by what the kernel
 * says, so an attack from within the test's process would fall on the test as well.
 *
 * Says `ready` on stdout once it is in full swing, goes on until its stdin ends, and then writes one
 * JSON line: how often each thing happened.
 */
import { linkSync, renameSync, rmSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

import { type Connection, openConnection } from '../../../src/client/connection.ts';
import type { Identity } from '../../../src/ipc/wire/handshake-messages.ts';
import { after } from '../../../src/ipc/wire/timer.ts';

const [mode, target = '', ...rest] = process.argv.slice(2);

const counts: Record<string, number> = {};
const over = new AbortController();

function count(what: string): void {
  counts[what] = (counts[what] ?? 0) + 1;
}

function ready(): void {
  process.stdout.write('ready\n');
}

/** Holds so many proven connections, spread over the identities, and asks once on each at the end. */
async function crowd(connections: number, identities: readonly Identity[]): Promise<void> {
  const held: Connection[] = [];
  for (let opened = 0; opened < connections; opened += 1) {
    const identity = identities[opened % identities.length];
    if (!identity) throw new Error('a crowd needs identities');
    held.push(await openConnection({ identity, socket: target, after }));
  }
  ready();
  while (!over.signal.aborted) await sleep(10);
  for (const connection of held) {
    await connection.request('status');
    count('answered');
    connection.close();
  }
}

/** Puts one of two sockets in the place of the other, again and again. */
async function swap(first: string, second: string): Promise<void> {
  for (let turn = 0; !over.signal.aborted; turn += 1) {
    const next = `${target}.next`;
    rmSync(next, { force: true });
    linkSync(turn % 2 === 0 ? second : first, next);
    renameSync(next, target);
    count('swaps');
    if (turn === 10) ready();
    await nextTurn();
  }
}

async function attack(): Promise<void> {
  const [first = '', second = ''] = rest;
  if (mode === 'crowd') return crowd(Number(first), JSON.parse(second));
  return swap(first, second);
}

process.stdin.on('end', () => {
  over.abort();
  // Connections that only wait would keep the process alive.
  void attacking.then(() => process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit()));
});
process.stdin.resume();
const attacking = attack();
