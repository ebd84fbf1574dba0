/**
 * The contenders on a Unix socket besides ours: the floors (floor.mjs, floor.c), and ssh-agent where the machine has one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemCode } from '../src/base/system-error.ts';

/** One connection: asks, and waits for the whole answer. */
export interface Asking {
  readonly ask: () => Promise<void>;
  readonly close: () => void;
}

export async function floorConnection(socket: string, resource: string): Promise<Asking> {
  const line = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'token.get', params: { resource } })}\n`;
  let text = '';
  return asking(socket, Buffer.from(line), (chunk) => {
    text += chunk.toString();
    if (!text.endsWith('\n')) return false;
    JSON.parse(text);
    text = '';
    return true;
  });
}

/** SSH_AGENTC_REQUEST_IDENTITIES (draft-ietf-sshm-ssh-agent §3.5). */
const identities = Buffer.from([0, 0, 0, 1, 11]);

export async function sshAgentConnection(socket: string): Promise<Asking> {
  let answer = Buffer.alloc(0);
  return asking(socket, identities, (chunk) => {
    answer = Buffer.concat([answer, chunk]);
    if (answer.length < 4 || answer.length < 4 + answer.readUInt32BE()) return false;
    answer = Buffer.alloc(0);
    return true;
  });
}

async function asking(socket: string, request: Buffer, isWhole: (chunk: Buffer) => boolean): Promise<Asking> {
  const connection = await connected(socket);
  let heard: (() => void) | undefined;
  connection.on('data', (chunk: Buffer) => {
    if (isWhole(chunk)) heard?.();
  });
  return {
    ask: async () =>
      new Promise((resolve) => {
        heard = resolve;
        connection.write(request);
      }),
    close: () => void connection.destroy(),
  };
}

/** Waits while the agent's queue is full: EAGAIN (unix(7)). ssh-agent's is short. */
async function connected(socket: string): Promise<net.Socket> {
  for (;;) {
    const connection = net.connect(socket);
    const refusal = await once(connection, 'connect').catch((error: unknown) => error);
    if (!(refusal instanceof Error)) return connection;
    if (systemCode(refusal) !== 'EAGAIN') throw refusal;
    await sleep(1);
  }
}

export interface SshAgent {
  readonly socket: string;
  readonly pid: number;
  readonly end: () => void;
}

/** Undefined where the machine has no ssh-agent. */
export async function startSshAgent(folder: string): Promise<SshAgent | undefined> {
  const socket = path.join(folder, 'ssh-agent.sock');
  const child = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
  child.on('error', () => undefined);
  // Without the program there is no process id.
  if (child.pid === undefined) return undefined;
  while (child.exitCode === null && !existsSync(socket)) await sleep(20);
  return child.exitCode !== null ? undefined : { socket, pid: child.pid, end: () => void child.kill() };
}
