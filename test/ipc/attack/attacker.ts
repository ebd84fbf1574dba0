/**
 * A hostile program, run as a process of its own: the broker tells programs apart by what the kernel
 * says, so an attack from within the test's process would fall on the test as well.
 *
 * Says `ready` on stdout once it is in full swing, goes on until its stdin ends, and then writes one
 * JSON line: how often each thing happened.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, renameSync, rmSync } from 'node:fs';
import net from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

import { type Connection, openConnection } from '../../../src/client/connection.ts';
import { newNonce } from '../../../src/ipc/wire/handshake.ts';
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

/**
 * Sends hello with a client's id and a wrong proof, as fast as the broker allows. Even on a slow machine,
 * it goes on until it was refused once.
 */
async function wrongProofs(endpoint: string, appId: string): Promise<void> {
  const isDone = (): boolean => over.signal.aborted && (counts['rate_limited'] ?? 0) > 0;
  const lanes = Array.from({ length: 16 }, async () => {
    while (!isDone()) await wrongProof(endpoint, appId);
  });
  ready();
  await Promise.all(lanes);
}

async function wrongProof(endpoint: string, appId: string): Promise<void> {
  const socket = net.connect(target);
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
  });
  socket.on('error', () => {});
  const params = { versions: [1], appId, nonce: newNonce(), endpoint, capabilities: [] };
  socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'hello', params })}\n`);
  // An answer is one short line, written at once, and so it comes in one piece.
  socket.on('data', (line) => {
    const { result, error } = JSON.parse(line.toString());
    if (error) count(error.data.reason);
    if (!result) return;
    const proof = randomBytes(32).toString('base64url');
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'prove', params: { proof } })}\n`);
  });
  await closed;
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
  if (mode === 'wrong-proofs') return wrongProofs(first, second);
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
