/**
 * The hot path beside a peer that does nothing: `token.get` with a valid token, on a kept connection, on
 * a new one, from 64 at once, and as a cold `keyturn token`. Prints medians and ratios, asserts nothing:
 * the numbers are the machine's, the ratios less so. Needs a build: `npm run build && node bench/hot-path.ts`.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, pair } from '../src/client/index.ts';
import { startDemoWorld } from '../demo/servers/demo-world.ts';

const root = path.join(import.meta.dirname, '..');
const folder = mkdtempSync(path.join(tmpdir(), 'kb-'));
const bin = path.join(root, 'dist', 'cli', 'bin.js');
const world = await startDemoWorld({ accessTokenLifetime: 3600 });
const { resource } = world.protectedServer;
const caFile = path.join(folder, 'ca.pem');
writeFileSync(caFile, world.ca);
const env: NodeJS.ProcessEnv = {
  PATH: process.env['PATH'],
  HOME: folder,
  KEYTURN_HOME: path.join(folder, 'home'),
  KEYTURN_VAULT: 'memory',
  NODE_EXTRA_CA_CERTS: caFile,
  KEYTURN_BROWSER: `env KEYTURN_DEMO_CA=${caFile} ${process.execPath} ${path.join(root, 'demo', 'user-agent.ts')}`,
};
const children: ChildProcess[] = [];
/** How often each thing is done; the first tenth warms up. */
const rounds = { kept: 20_000, anew: 2000, cold: 30, crowd: 64 } as const;

async function start(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await once(child.stdout, 'data');
}

async function keyturn(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [bin, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(child, 'close');
  return text;
}

function medianOf(times: readonly number[]): number {
  const warm = times.slice(times.length / 10).toSorted((a, b) => a - b);
  return warm[Math.floor(warm.length / 2)] ?? 0;
}

async function median(count: number, work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const from = performance.now();
    await work();
    times.push(performance.now() - from);
  }
  return medianOf(times);
}

function show(what: string, ours: number, peer: number, unit = 'µs'): void {
  const [a, b] = [ours, peer].map((value) => value.toFixed(1).padStart(9));
  const ratio = (ours / peer).toFixed(2);
  process.stdout.write(`${what.padEnd(34)} ${a} ${unit}   peer ${b} ${unit}   ×${ratio}\n`);
}

/** The peer's client: a line out, a line back. */
async function echoConnection(socket: string): Promise<{ ask: () => Promise<void>; close: () => void }> {
  const connection = net.connect(socket).setEncoding('utf8');
  await once(connection, 'connect');
  let heard: (() => void) | undefined;
  let text = '';
  connection.on('data', (chunk: string) => {
    text += chunk;
    if (!text.endsWith('\n')) return;
    JSON.parse(text);
    text = '';
    heard?.();
  });
  const line = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'token.get', params: { resource } })}\n`;
  return {
    ask: () =>
      new Promise((resolve) => {
        heard = resolve;
        connection.write(line);
      }),
    close: () => void connection.destroy(),
  };
}

async function prepare(): Promise<number> {
  await start([bin, 'daemon', '--auto-started']);
  await keyturn('login', resource);
  const pairing = pair({ name: 'bench', env, onCode: () => undefined });
  let cards: { id: string }[] = [];
  while (cards.length === 0) {
    await sleep(50);
    cards = JSON.parse(await keyturn('pending', '--json')) as { id: string }[];
  }
  await keyturn('answer', cards[0]?.id ?? '', 'yes');
  await pairing;
  await keyturn('allow', 'bench', resource);
  await keyturn('allow', 'cli', resource);
  const connection = await connect({ name: 'bench', env });
  const token = await connection.getToken({ resource });
  connection.close();
  return JSON.stringify(token).length;
}

async function crowd(ask: (n: number) => Promise<unknown>): Promise<number> {
  const each = 300;
  const from = performance.now();
  await Promise.all(
    Array.from({ length: rounds.crowd }, async (_, n) => {
      for (let round = 0; round < each; round += 1) await ask(n);
    }),
  );
  return ((performance.now() - from) * 1000) / (each * rounds.crowd);
}

try {
  const size = await prepare();
  const socket = path.join(folder, 'echo.sock');
  await start([path.join(import.meta.dirname, 'echo.ts'), socket, String(size)]);

  const kept = await connect({ name: 'bench', env });
  const echo = await echoConnection(socket);
  show(
    'one request, kept connection',
    (await median(rounds.kept, () => kept.getToken({ resource }))) * 1000,
    (await median(rounds.kept, () => echo.ask())) * 1000,
  );
  const anew = async (): Promise<void> => {
    const connection = await connect({ name: 'bench', env });
    await connection.getToken({ resource });
    connection.close();
  };
  const echoAnew = async (): Promise<void> => {
    const connection = await echoConnection(socket);
    await connection.ask();
    connection.close();
  };
  show(
    'one request, new connection',
    (await median(rounds.anew, anew)) * 1000,
    (await median(rounds.anew, echoAnew)) * 1000,
  );
  const many = Array.from({ length: rounds.crowd }, () => connect({ name: 'bench', env }));
  const echoes = Array.from({ length: rounds.crowd }, () => echoConnection(socket));
  const [ours, peers] = [await Promise.all(many), await Promise.all(echoes)];
  show(
    'a request of 64 connections at once',
    await crowd(async (n) => ours[n]?.getToken({ resource })),
    await crowd(async (n) => peers[n]?.ask()),
  );
  for (const connection of [kept, ...ours, echo, ...peers]) connection.close();
  const quiet = { env, stdio: 'ignore' } as const;
  show(
    'keyturn token, a cold process',
    await median(rounds.cold, () => execFileSync(process.execPath, [bin, 'token', resource], quiet)),
    await median(rounds.cold, () => execFileSync(process.execPath, ['-e', '0'], quiet)),
    'ms',
  );
} finally {
  await keyturn('daemon', '--stop');
  for (const child of children) child.kill();
  await world.close();
  rmSync(folder, { recursive: true, force: true });
}
